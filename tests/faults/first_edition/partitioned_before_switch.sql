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
-- Name: events_13f277ea934a88a0; Type: TABLE; Schema: inrush_staging; Owner: -
--

CREATE TABLE inrush_staging.events_13f277ea934a88a0 (
    id integer NOT NULL,
    note text,
    CONSTRAINT inrush_bounds CHECK (((id IS NOT NULL) AND (id >= 3) AND (id <= 5)))
);


--
-- Name: events_1c882cf79e395ac5; Type: TABLE; Schema: inrush_staging; Owner: -
--

CREATE TABLE inrush_staging.events_1c882cf79e395ac5 (
    id integer NOT NULL,
    note text,
    CONSTRAINT inrush_bounds CHECK (((id IS NOT NULL) AND (id >= 6) AND (id <= 8)))
);


--
-- Name: events_9935f8dcde8d4d32; Type: TABLE; Schema: inrush_staging; Owner: -
--

CREATE TABLE inrush_staging.events_9935f8dcde8d4d32 (
    id integer NOT NULL,
    note text,
    CONSTRAINT inrush_bounds CHECK (((id IS NOT NULL) AND (id >= 9) AND (id <= 11)))
);


--
-- Name: events_e25c96be1683ff6f; Type: TABLE; Schema: inrush_staging; Owner: -
--

CREATE TABLE inrush_staging.events_e25c96be1683ff6f (
    id integer NOT NULL,
    note text,
    CONSTRAINT inrush_bounds CHECK (((id IS NOT NULL) AND (id >= 0) AND (id <= 2)))
);


--
-- Data for Name: run; Type: TABLE DATA; Schema: inrush; Owner: -
--

COPY inrush.run (run_id, run_key, name, package, package_hash, targets, target_oids, epoch, state, holder, started_at, held_since, switched_at) FROM stdin;
1	d01a7804e3e69c4e79ba86481ea1694491a9afa2e441a8d1e68f94b768a60f45	20261124T121244Z-test-8e02c3	test	2fb94444d855324d371a7651e624ddf51e44c8df2fc0ae62ef9d0bfaf3e3eeb9	{"\\"public\\".\\"events\\""}	\N	1	loading	process 9020 on vm	2026-11-24 12:12:44.103999+00	2026-11-24 12:12:44.103999+00	\N
\.


--
-- Data for Name: shard; Type: TABLE DATA; Schema: inrush; Owner: -
--

COPY inrush.shard (run_id, unit_key, shard_key, file_key, file, byte_start, byte_end, file_bytes, file_modified_ns, file_state, epoch, rows_read, rows_loaded, rows_rejected, rows_skipped, bytes_read, content_hash, text_start, text_end, tally, trailer, refused, committed_at) FROM stdin;
1	1c882cf79e395ac5810af47cb05c114ee9f82f5a72e3ad06ad1ee3b204c49d20	ab761de8e565323cac17c16191b0b4e237d73720c5105b01f9fefa6b467352d6	ca6bc4db9ff54d5800a4d68bb8689d007fdebba11fd822832d1ba8227a0f9b80	rows.tbl.2.gz	0	53	53	1790000000123456789	10078876:1795522363974144099	1	4	3	1	0	43	xxh3:d82f3bcfbcc65dbc	0	43	\N	\N	\N	2026-11-24 12:12:44.193488+00
1	e25c96be1683ff6fd0f4d56260ff32ca0e4d872ea405a440b9a03f89e3c2b632	a680fdae54cf914b7f1e5097e7b4bfe34d565d8ba31cec60b2115071fdec378a	28fc184de55f1eea0bcb79b7b29b7e2eff710c3789db3ca198a33dc25ae997cb	rows.tbl.0	0	43	43	1790000000123456789	10078873:1795522363973857621	1	4	3	1	0	43	xxh3:f361969794f8bfb6	0	43	\N	\N	\N	2026-11-24 12:12:44.202133+00
1	9935f8dcde8d4d32e11a5d973e945db3204d3ab07a35451763732ddbdcd9b08e	f549b8a4abb2efaf2da793a8e9743b13b60c56f2ac9dcac9635e90b0a5c262c8	e9ee176fcf628ddc9369ae7225977bdb7985aab4cd869c032bc53eb90368fbbd	rows.tbl.3	0	34	34	1790000000123456789	10078875:1795522363974048322	1	3	3	0	0	34	xxh3:545e2e79ba50542f	0	34	\N	\N	\N	2026-11-24 12:12:44.20701+00
1	13f277ea934a88a0dbdd6f75b9966c658deeb7a999b8de26c32e0d40b4b4b5a9	155619317f468f2146af6bed6a91dd39813d5b587df813048ece88da66cf3603	e0323184b3c8e14845650ec3836cb5f7543090ebff8d2bbe5ec4889f54ebe315	rows.tbl.1	0	30	30	1790000000123456789	10078874:1795522363973962342	1	3	3	0	0	30	xxh3:638905428f605b94	0	30	\N	\N	\N	2026-11-24 12:12:44.209983+00
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
1	1c882cf79e395ac5810af47cb05c114ee9f82f5a72e3ad06ad1ee3b204c49d20	events	"public"."events"	inrush_staging	events_1c882cf79e395ac5	f	f	t	f	1	3	6	8	16512	8369e4c686b9648eab0e734469420e6d	2026-11-24 12:12:44.193488+00
1	e25c96be1683ff6fd0f4d56260ff32ca0e4d872ea405a440b9a03f89e3c2b632	events	"public"."events"	inrush_staging	events_e25c96be1683ff6f	f	f	t	f	1	3	0	2	16518	0de25c80d8044699bb070746d6584499	2026-11-24 12:12:44.202133+00
1	9935f8dcde8d4d32e11a5d973e945db3204d3ab07a35451763732ddbdcd9b08e	events	"public"."events"	inrush_staging	events_9935f8dcde8d4d32	f	f	t	f	1	3	9	11	16524	cea68ae7ef9735713422bf60df05d073	2026-11-24 12:12:44.20701+00
1	13f277ea934a88a0dbdd6f75b9966c658deeb7a999b8de26c32e0d40b4b4b5a9	events	"public"."events"	inrush_staging	events_13f277ea934a88a0	f	f	t	f	1	3	3	5	16530	2c20d0c4e7e4b1d92bca734ea5097bf7	2026-11-24 12:12:44.209983+00
\.


--
-- Data for Name: events_13f277ea934a88a0; Type: TABLE DATA; Schema: inrush_staging; Owner: -
--

COPY inrush_staging.events_13f277ea934a88a0 (id, note) FROM stdin;
3	note 3
4	note 4
5	note 5
\.


--
-- Data for Name: events_1c882cf79e395ac5; Type: TABLE DATA; Schema: inrush_staging; Owner: -
--

COPY inrush_staging.events_1c882cf79e395ac5 (id, note) FROM stdin;
6	note 6
7	note 7
8	note 8
\.


--
-- Data for Name: events_9935f8dcde8d4d32; Type: TABLE DATA; Schema: inrush_staging; Owner: -
--

COPY inrush_staging.events_9935f8dcde8d4d32 (id, note) FROM stdin;
9	note 9
10	note 10
11	note 11
\.


--
-- Data for Name: events_e25c96be1683ff6f; Type: TABLE DATA; Schema: inrush_staging; Owner: -
--

COPY inrush_staging.events_e25c96be1683ff6f (id, note) FROM stdin;
0	note 0
1	note 1
2	note 2
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


