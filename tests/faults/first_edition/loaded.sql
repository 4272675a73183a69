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
-- Name: events; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.events (
    id integer NOT NULL,
    note text
)
PARTITION BY RANGE (id);


--
-- Name: events_p1; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.events_p1 (
    id integer NOT NULL,
    note text
);


--
-- Name: events_p2; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.events_p2 (
    id integer NOT NULL,
    note text
);


--
-- Name: events_p3; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.events_p3 (
    id integer NOT NULL,
    note text
);


--
-- Name: events_p4; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.events_p4 (
    id integer NOT NULL,
    note text
);


--
-- Name: events_p1; Type: TABLE ATTACH; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events ATTACH PARTITION public.events_p1 FOR VALUES FROM (0) TO (3);


--
-- Name: events_p2; Type: TABLE ATTACH; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events ATTACH PARTITION public.events_p2 FOR VALUES FROM (3) TO (6);


--
-- Name: events_p3; Type: TABLE ATTACH; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events ATTACH PARTITION public.events_p3 FOR VALUES FROM (6) TO (9);


--
-- Name: events_p4; Type: TABLE ATTACH; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events ATTACH PARTITION public.events_p4 FOR VALUES FROM (9) TO (12);


--
-- Data for Name: run; Type: TABLE DATA; Schema: inrush; Owner: -
--

COPY inrush.run (run_id, run_key, name, package, package_hash, targets, target_oids, epoch, state, holder, started_at, held_since, switched_at) FROM stdin;
1	d01a7804e3e69c4e79ba86481ea1694491a9afa2e441a8d1e68f94b768a60f45	20261124T121249Z-test-177dd1	test	a668aeed996b502327a947c0d16d57dcce93bd3edfbd7cc20ce0114efad5bec1	{"\\"public\\".\\"events\\""}	{16815}	1	switched	process 9353 on vm	2026-11-24 12:12:49.327001+00	2026-11-24 12:12:49.327001+00	2026-11-24 12:12:49.380305+00
\.


--
-- Data for Name: shard; Type: TABLE DATA; Schema: inrush; Owner: -
--

COPY inrush.shard (run_id, unit_key, shard_key, file_key, file, byte_start, byte_end, file_bytes, file_modified_ns, file_state, epoch, rows_read, rows_loaded, rows_rejected, rows_skipped, bytes_read, content_hash, text_start, text_end, tally, trailer, refused, committed_at) FROM stdin;
1	07093fe67ed3f3c3076c5e6f305ed6477d0de637e10c22e35505a713b32552fa	6f9de1ab116441939d79753b3107fa7d696ad46163280775bfac058c9bfa42d0	089bce09fdf700b6f5faca3dbdafe0aca22dca196b8e9e5f0afa8dec0f487945	rows.tbl.2.gz	0	53	53	1790000000123456789	10078647:1795522369026578495	1	4	3	1	0	43	xxh3:d82f3bcfbcc65dbc	0	43	\N	\N	\N	2026-11-24 12:12:49.334334+00
1	c7d490c2c415f2780a3560ef86b9c87171da7d01245e19dbc4901a4fe25a488e	c99f823a5130df836c0c538ffe9953eaf2705d8b8a44972b382f0e62f4a941fd	440eb8a1824a8c4ab2104132af2086e71c7815926d5b2d2e5aefe5bd62c25cb5	rows.tbl.0	0	43	43	1790000000123456789	10078644:1795522369026378152	1	4	3	1	0	43	xxh3:f361969794f8bfb6	0	43	\N	\N	\N	2026-11-24 12:12:49.346558+00
1	8914ab4e548775ee66149df8928778e34746072d3fd8d454c14ff36b57128063	809df4a8551678df7ffcf1e4770adcef1adb06b4569ebb4a10836d306a63587e	ce9b12df3f8b2cf293ddfb7306a0134af7b168f1377c9657a725c3a90e62a361	rows.tbl.3	0	34	34	1790000000123456789	10078646:1795522369026519638	1	3	3	0	0	34	xxh3:545e2e79ba50542f	0	34	\N	\N	\N	2026-11-24 12:12:49.351296+00
1	75d0253089992a3b2cb3b2af63f84881f415779d1d8a6e4786488d0e30b296a5	53ac3537aebc96c5235cfb69a4f6d59d0d740338ee7b998fc05b775e8278862f	3679774790d4436b9ec30278c7a92259647e54cd02e764241dd9a41fbfbde551	rows.tbl.1	0	30	30	1790000000123456789	10078645:1795522369026458292	1	3	3	0	0	30	xxh3:638905428f605b94	0	30	\N	\N	\N	2026-11-24 12:12:49.353904+00
\.


--
-- Data for Name: switched_table; Type: TABLE DATA; Schema: inrush; Owner: -
--

COPY inrush.switched_table (run_id, number, target, what, unit_key, table_oid, table_schema, table_name, bound, condition, original_schema, original_name, original_indexes) FROM stdin;
1	1	"public"."events"	made	\N	16815	public	events	\N	\N	\N	\N	\N
1	2	"public"."events"	attached	c7d490c2c415f2780a3560ef86b9c87171da7d01245e19dbc4901a4fe25a488e	16797	public	events_p1	FOR VALUES FROM (0) TO (3)	\N	\N	\N	\N
1	3	"public"."events"	attached	75d0253089992a3b2cb3b2af63f84881f415779d1d8a6e4786488d0e30b296a5	16809	public	events_p2	FOR VALUES FROM (3) TO (6)	\N	\N	\N	\N
1	4	"public"."events"	attached	07093fe67ed3f3c3076c5e6f305ed6477d0de637e10c22e35505a713b32552fa	16791	public	events_p3	FOR VALUES FROM (6) TO (9)	\N	\N	\N	\N
1	5	"public"."events"	attached	8914ab4e548775ee66149df8928778e34746072d3fd8d454c14ff36b57128063	16803	public	events_p4	FOR VALUES FROM (9) TO (12)	\N	\N	\N	\N
\.


--
-- Data for Name: unit; Type: TABLE DATA; Schema: inrush; Owner: -
--

COPY inrush.unit (run_id, unit_key, flow, target, staging_schema, staging_table, shared, straight, finished, careful, epoch, rows_counted, key_smallest, key_largest, table_oid, filenodes, committed_at) FROM stdin;
1	07093fe67ed3f3c3076c5e6f305ed6477d0de637e10c22e35505a713b32552fa	events	"public"."events"	inrush_staging	events_07093fe67ed3f3c3	f	f	t	f	1	3	6	8	16791	4a21db0cdfc693e90e7700c46d323e4f	2026-11-24 12:12:49.334334+00
1	c7d490c2c415f2780a3560ef86b9c87171da7d01245e19dbc4901a4fe25a488e	events	"public"."events"	inrush_staging	events_c7d490c2c415f278	f	f	t	f	1	3	0	2	16797	14d7a97cbd27c16d017679633f439522	2026-11-24 12:12:49.346558+00
1	8914ab4e548775ee66149df8928778e34746072d3fd8d454c14ff36b57128063	events	"public"."events"	inrush_staging	events_8914ab4e548775ee	f	f	t	f	1	3	9	11	16803	644e74ddc0de67390434e828976861ea	2026-11-24 12:12:49.351296+00
1	75d0253089992a3b2cb3b2af63f84881f415779d1d8a6e4786488d0e30b296a5	events	"public"."events"	inrush_staging	events_75d0253089992a3b	f	f	t	f	1	3	3	5	16809	3fa998ea554d5c92acb13b8606c99b8d	2026-11-24 12:12:49.353904+00
\.


--
-- Data for Name: events_p1; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.events_p1 (id, note) FROM stdin;
0	note 0
1	note 1
2	note 2
\.


--
-- Data for Name: events_p2; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.events_p2 (id, note) FROM stdin;
3	note 3
4	note 4
5	note 5
\.


--
-- Data for Name: events_p3; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.events_p3 (id, note) FROM stdin;
6	note 6
7	note 7
8	note 8
\.


--
-- Data for Name: events_p4; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.events_p4 (id, note) FROM stdin;
9	note 9
10	note 10
11	note 11
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


