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
-- Name: events_64698cbe80ee76a4; Type: TABLE; Schema: inrush_staging; Owner: -
--

CREATE TABLE inrush_staging.events_64698cbe80ee76a4 (
    id integer NOT NULL,
    note text,
    CONSTRAINT inrush_bounds CHECK (((id IS NOT NULL) AND (id >= 0) AND (id <= 2)))
);


--
-- Name: events_79543b57f9dfad5d; Type: TABLE; Schema: inrush_staging; Owner: -
--

CREATE TABLE inrush_staging.events_79543b57f9dfad5d (
    id integer NOT NULL,
    note text,
    CONSTRAINT inrush_bounds CHECK (((id IS NOT NULL) AND (id >= 9) AND (id <= 11)))
);


--
-- Data for Name: run; Type: TABLE DATA; Schema: inrush; Owner: -
--

COPY inrush.run (run_id, run_key, name, package, package_hash, targets, target_oids, epoch, state, holder, started_at, held_since, switched_at) FROM stdin;
1	d01a7804e3e69c4e79ba86481ea1694491a9afa2e441a8d1e68f94b768a60f45	20261124T120913Z-test-3ced76	test	df29626a1225f6dc55f0aa52d8930a6e9ac967276bb3bd598dac7eac87837496	{"\\"public\\".\\"events\\""}	\N	1	loading	process 28527 on vm	2026-11-24 12:09:13.6589+00	2026-11-24 12:09:13.6589+00	\N
\.


--
-- Data for Name: shard; Type: TABLE DATA; Schema: inrush; Owner: -
--

COPY inrush.shard (run_id, unit_key, shard_key, file_key, file, byte_start, byte_end, file_bytes, file_modified_ns, file_state, epoch, rows_read, rows_loaded, rows_rejected, rows_skipped, bytes_read, content_hash, text_start, text_end, tally, trailer, refused, committed_at) FROM stdin;
1	79543b57f9dfad5d9c628dba01d888fea331263ade33196e33fd8cba4d5088a4	37bc8613dc2eb32ee63e6e49c4813380e96672f393944f6eb22e53378719ef2b	1da693f97e46fdb9706734d1a3aa06e3097679c7d0ec16c44845f4e9dcefc15b	rows.tbl.3	0	34	34	1790000000123456789	10080839:1795522153554482263	1	3	3	0	0	34	xxh3:545e2e79ba50542f	0	34	\N	\N	\N	2026-11-24 12:09:13.682274+00
1	64698cbe80ee76a4d4f7ab2727dba6d754cac251050c976ec5eb000c9e15e2ed	232b86fcfe74c7be426853261dc8ac0777e1c63d8bfdb3e8f767afad2a7c9c3c	34ff35df38166fe9c49b2c67bce0f5c2e90fe0e61f58c19620b6d80a3a396354	rows.tbl.0	0	30	30	1790000000123456789	10080836:1795522153553836042	1	3	3	0	0	30	xxh3:5d2f2efd37052a72	0	30	\N	\N	\N	2026-11-24 12:09:13.69679+00
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
1	79543b57f9dfad5d9c628dba01d888fea331263ade33196e33fd8cba4d5088a4	events	"public"."events"	inrush_staging	events_79543b57f9dfad5d	f	f	t	f	1	3	9	11	16442	5d8d6d68e671dce191402985d7e2cabd	2026-11-24 12:09:13.682274+00
1	64698cbe80ee76a4d4f7ab2727dba6d754cac251050c976ec5eb000c9e15e2ed	events	"public"."events"	inrush_staging	events_64698cbe80ee76a4	f	f	t	f	1	3	0	2	16448	dc4b387dcf87ffbd8a9ae1a68e4fd691	2026-11-24 12:09:13.69679+00
\.


--
-- Data for Name: events_64698cbe80ee76a4; Type: TABLE DATA; Schema: inrush_staging; Owner: -
--

COPY inrush_staging.events_64698cbe80ee76a4 (id, note) FROM stdin;
0	note 0
1	note 1
2	note 2
\.


--
-- Data for Name: events_79543b57f9dfad5d; Type: TABLE DATA; Schema: inrush_staging; Owner: -
--

COPY inrush_staging.events_79543b57f9dfad5d (id, note) FROM stdin;
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


