--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: inrush; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA inrush;


--
-- Name: SCHEMA inrush; Type: COMMENT; Schema: -; Owner: -
--

COMMENT ON SCHEMA inrush IS 'The ledger of Inrush, version 4: what each run has loaded';


--
-- Name: inrush_staging; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA inrush_staging;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: run; Type: TABLE; Schema: inrush; Owner: -
--

CREATE TABLE inrush.run (
    run_id bigint NOT NULL,
    run_key text NOT NULL,
    name text NOT NULL,
    package text NOT NULL,
    package_hash text NOT NULL,
    targets text[] NOT NULL,
    target_oids oid[],
    epoch integer DEFAULT 1 NOT NULL,
    state text NOT NULL,
    holder text NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    held_since timestamp with time zone DEFAULT now() NOT NULL,
    switched_at timestamp with time zone,
    CONSTRAINT run_state_check CHECK ((state = ANY (ARRAY['loading'::text, 'switched'::text, 'discarded'::text, 'undone'::text])))
);


--
-- Name: run_run_id_seq; Type: SEQUENCE; Schema: inrush; Owner: -
--

ALTER TABLE inrush.run ALTER COLUMN run_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME inrush.run_run_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: shard; Type: TABLE; Schema: inrush; Owner: -
--

CREATE TABLE inrush.shard (
    run_id bigint NOT NULL,
    unit_key text NOT NULL,
    shard_key text NOT NULL,
    file_key text NOT NULL,
    file text NOT NULL,
    byte_start bigint NOT NULL,
    byte_end bigint,
    file_bytes bigint NOT NULL,
    file_modified_ns bigint NOT NULL,
    file_state text NOT NULL,
    epoch integer NOT NULL,
    rows_read bigint NOT NULL,
    rows_loaded bigint NOT NULL,
    rows_rejected bigint NOT NULL,
    rows_skipped bigint NOT NULL,
    bytes_read bigint NOT NULL,
    content_hash text,
    text_start bigint,
    text_end bigint,
    tally text[],
    trailer text,
    refused bigint[],
    committed_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT shard_check CHECK ((rows_read = ((rows_loaded + rows_rejected) + rows_skipped)))
);


--
-- Name: switched_table; Type: TABLE; Schema: inrush; Owner: -
--

CREATE TABLE inrush.switched_table (
    run_id bigint NOT NULL,
    number integer NOT NULL,
    target text NOT NULL,
    what text NOT NULL,
    unit_key text,
    table_oid oid NOT NULL,
    table_schema text NOT NULL,
    table_name text NOT NULL,
    bound text,
    condition text,
    original_schema text,
    original_name text,
    original_indexes text[],
    CONSTRAINT switched_table_what_check CHECK ((what = ANY (ARRAY['attached'::text, 'made'::text, 'inserted'::text, 'kept'::text, 'dropped'::text])))
);


--
-- Name: unit; Type: TABLE; Schema: inrush; Owner: -
--

CREATE TABLE inrush.unit (
    run_id bigint NOT NULL,
    unit_key text NOT NULL,
    flow text NOT NULL,
    target text NOT NULL,
    staging_schema text NOT NULL,
    staging_table text NOT NULL,
    shared boolean NOT NULL,
    straight boolean NOT NULL,
    finished boolean NOT NULL,
    careful boolean DEFAULT false NOT NULL,
    epoch integer NOT NULL,
    rows_counted bigint,
    key_smallest text,
    key_largest text,
    table_oid oid,
    filenodes text,
    committed_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: journal_e74200cc6cd36a8e; Type: TABLE; Schema: inrush_staging; Owner: -
--

CREATE TABLE inrush_staging.journal_e74200cc6cd36a8e (
    id integer NOT NULL,
    note text
);


--
-- Name: journal; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.journal (
    id integer NOT NULL,
    note text
);


--
-- Data for Name: run; Type: TABLE DATA; Schema: inrush; Owner: -
--

COPY inrush.run (run_id, run_key, name, package, package_hash, targets, target_oids, epoch, state, holder, started_at, held_since, switched_at) FROM stdin;
1	8c9d90d54448bcc90f8b2cc8c021dba43b8ecf74b997dace16f3801d78d0dda5	20261124T121245Z-test-528a42	test	9b89d4cc253eb16a84d89f02911cef10899ee3ad4c91e48fa541b623bb653915	{"\\"public\\".\\"journal\\""}	\N	1	loading	process 9155 on vm	2026-11-24 12:12:45.179378+00	2026-11-24 12:12:45.179378+00	\N
\.


--
-- Data for Name: shard; Type: TABLE DATA; Schema: inrush; Owner: -
--

COPY inrush.shard (run_id, unit_key, shard_key, file_key, file, byte_start, byte_end, file_bytes, file_modified_ns, file_state, epoch, rows_read, rows_loaded, rows_rejected, rows_skipped, bytes_read, content_hash, text_start, text_end, tally, trailer, refused, committed_at) FROM stdin;
1	e74200cc6cd36a8e3711d1ae00a1ba0dece3c65055aafc35de588d1b19f22125	3e8e1be93e823ed1608562448d3816088255fa0f781bc860efe8fe5e82d29828	404e716cfdfd62217459d2d7a52edf4ad176c01a889b7db6fe3a0ea9fbc0db3c	rows.tbl.0	0	43	43	1790000000123456789	10081729:1795522365078951253	1	4	3	1	0	43	xxh3:f361969794f8bfb6	0	43	\N	\N	\N	2026-11-24 12:12:45.190074+00
1	e74200cc6cd36a8e3711d1ae00a1ba0dece3c65055aafc35de588d1b19f22125	b5aab498f231f13084a860a176682d511863aa280186a11e354d1d48026424d1	bc63c705da5961e95dc5d0f84dcdd7165d009f211100330bab6775a1720dc423	rows.tbl.1	0	30	30	1790000000123456789	10081745:1795522365079159527	1	3	3	0	0	30	xxh3:638905428f605b94	0	30	\N	\N	\N	2026-11-24 12:12:45.190074+00
1	e74200cc6cd36a8e3711d1ae00a1ba0dece3c65055aafc35de588d1b19f22125	57cef64f388fc0b8aaf152088e4b662377e43a5a22e37fcfbcb3df9a1e28f67f	7fc38264efe9eac78793bc67b3426e88b7a0bc3b26cc3c7a2ae7598b036a147e	rows.tbl.2.gz	0	53	53	1790000000123456789	10081777:1795522365079519711	1	4	3	1	0	43	xxh3:d82f3bcfbcc65dbc	0	43	\N	\N	\N	2026-11-24 12:12:45.190074+00
1	e74200cc6cd36a8e3711d1ae00a1ba0dece3c65055aafc35de588d1b19f22125	ad7619e6c7b3780925591ad54568382bd34c2a1def4134de95ffbcef797a4acc	d117cfe49eb48934bc67ea52bbbdac28cd3d8dc3e74fde5c2475681028b4757f	rows.tbl.3	0	34	34	1790000000123456789	10081761:1795522365079341441	1	3	3	0	0	34	xxh3:545e2e79ba50542f	0	34	\N	\N	\N	2026-11-24 12:12:45.190074+00
\.


--
-- Data for Name: switched_table; Type: TABLE DATA; Schema: inrush; Owner: -
--

COPY inrush.switched_table (run_id, number, target, what, unit_key, table_oid, table_schema, table_name, bound, condition, original_schema, original_name, original_indexes) FROM stdin;
\.


--
-- Data for Name: unit; Type: TABLE DATA; Schema: inrush; Owner: -
--

COPY inrush.unit (run_id, unit_key, flow, target, staging_schema, staging_table, shared, straight, finished, careful, epoch, rows_counted, key_smallest, key_largest, table_oid, filenodes, committed_at) FROM stdin;
1	e74200cc6cd36a8e3711d1ae00a1ba0dece3c65055aafc35de588d1b19f22125	journal	"public"."journal"	inrush_staging	journal_e74200cc6cd36a8e	f	f	t	f	1	12	\N	\N	16602	e6500331704d3aaa44c4b2d8c21dcba3	2026-11-24 12:12:45.190074+00
\.


--
-- Data for Name: journal_e74200cc6cd36a8e; Type: TABLE DATA; Schema: inrush_staging; Owner: -
--

COPY inrush_staging.journal_e74200cc6cd36a8e (id, note) FROM stdin;
0	note 0
1	note 1
2	note 2
3	note 3
4	note 4
5	note 5
6	note 6
7	note 7
8	note 8
9	note 9
10	note 10
11	note 11
\.


--
-- Data for Name: journal; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.journal (id, note) FROM stdin;
-2	old
-1	old
\.


--
-- Name: run_run_id_seq; Type: SEQUENCE SET; Schema: inrush; Owner: -
--

SELECT pg_catalog.setval('inrush.run_run_id_seq', 1, true);


--
-- Name: run run_name_key; Type: CONSTRAINT; Schema: inrush; Owner: -
--

ALTER TABLE ONLY inrush.run
    ADD CONSTRAINT run_name_key UNIQUE (name);


--
-- Name: run run_pkey; Type: CONSTRAINT; Schema: inrush; Owner: -
--

ALTER TABLE ONLY inrush.run
    ADD CONSTRAINT run_pkey PRIMARY KEY (run_id);


--
-- Name: shard shard_pkey; Type: CONSTRAINT; Schema: inrush; Owner: -
--

ALTER TABLE ONLY inrush.shard
    ADD CONSTRAINT shard_pkey PRIMARY KEY (run_id, unit_key, shard_key);


--
-- Name: switched_table switched_table_pkey; Type: CONSTRAINT; Schema: inrush; Owner: -
--

ALTER TABLE ONLY inrush.switched_table
    ADD CONSTRAINT switched_table_pkey PRIMARY KEY (run_id, number);


--
-- Name: unit unit_pkey; Type: CONSTRAINT; Schema: inrush; Owner: -
--

ALTER TABLE ONLY inrush.unit
    ADD CONSTRAINT unit_pkey PRIMARY KEY (run_id, unit_key);


--
-- Name: shard shard_run_id_unit_key_fkey; Type: FK CONSTRAINT; Schema: inrush; Owner: -
--

ALTER TABLE ONLY inrush.shard
    ADD CONSTRAINT shard_run_id_unit_key_fkey FOREIGN KEY (run_id, unit_key) REFERENCES inrush.unit(run_id, unit_key) ON DELETE CASCADE;


--
-- Name: switched_table switched_table_run_id_fkey; Type: FK CONSTRAINT; Schema: inrush; Owner: -
--

ALTER TABLE ONLY inrush.switched_table
    ADD CONSTRAINT switched_table_run_id_fkey FOREIGN KEY (run_id) REFERENCES inrush.run(run_id) ON DELETE CASCADE;


--
-- Name: unit unit_run_id_fkey; Type: FK CONSTRAINT; Schema: inrush; Owner: -
--

ALTER TABLE ONLY inrush.unit
    ADD CONSTRAINT unit_run_id_fkey FOREIGN KEY (run_id) REFERENCES inrush.run(run_id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--


