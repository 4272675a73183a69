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
-- Name: events_b1b926cb789dafa4; Type: TABLE; Schema: inrush_staging; Owner: -
--

CREATE TABLE inrush_staging.events_b1b926cb789dafa4 (
    id integer NOT NULL,
    note text,
    CONSTRAINT inrush_bounds CHECK (((id IS NOT NULL) AND (id >= 9) AND (id <= 11)))
);


--
-- Name: events_dfa651f611567a13; Type: TABLE; Schema: inrush_staging; Owner: -
--

CREATE TABLE inrush_staging.events_dfa651f611567a13 (
    id integer NOT NULL,
    note text,
    CONSTRAINT inrush_bounds CHECK (((id IS NOT NULL) AND (id >= 0) AND (id <= 2)))
);


--
-- Data for Name: run; Type: TABLE DATA; Schema: inrush; Owner: -
--

COPY inrush.run (run_id, run_key, name, package, package_hash, targets, target_oids, epoch, state, holder, started_at, held_since, switched_at) FROM stdin;
1	d01a7804e3e69c4e79ba86481ea1694491a9afa2e441a8d1e68f94b768a60f45	20261124T121243Z-test-105b38	test	a88c29ded1dbc540d86e7efb42d584655a8d2059314daecdbc8abe0c4c6aa2af	{"\\"public\\".\\"events\\""}	\N	1	loading	process 8863 on vm	2026-11-24 12:12:43.296698+00	2026-11-24 12:12:43.296698+00	\N
\.


--
-- Data for Name: shard; Type: TABLE DATA; Schema: inrush; Owner: -
--

COPY inrush.shard (run_id, unit_key, shard_key, file_key, file, byte_start, byte_end, file_bytes, file_modified_ns, file_state, epoch, rows_read, rows_loaded, rows_rejected, rows_skipped, bytes_read, content_hash, text_start, text_end, tally, trailer, refused, committed_at) FROM stdin;
1	b1b926cb789dafa47596fda35ab7bb2d5d7a0efc5e015ebfa591c8c046496b1b	3ca72c3cb563b86ee0eb5e80d4e99c5a9fdfc5298e76f783eee4c58887c46741	bf7f70971dd83bcb1d6863046acb67f999b9202cdf8002affe07de8fafdd8f04	rows.tbl.3	0	34	34	1790000000123456789	10076243:1795522362894217643	1	3	3	0	0	34	xxh3:545e2e79ba50542f	0	34	\N	\N	\N	2026-11-24 12:12:43.365142+00
1	dfa651f611567a13e5d44c82659975e5014359a42e353697703726ad8bb26112	670043b6edfe08830792957bea46ae2719d2b21e321991a03482686e5c4130e6	7df34c715e39559a791b9e180f43f810b61ffb1ce621279d7ddcb03d43c6ffd5	rows.tbl.0	0	30	30	1790000000123456789	10076178:1795522362894117923	1	3	3	0	0	30	xxh3:5d2f2efd37052a72	0	30	\N	\N	\N	2026-11-24 12:12:43.445799+00
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
1	b1b926cb789dafa47596fda35ab7bb2d5d7a0efc5e015ebfa591c8c046496b1b	events	"public"."events"	inrush_staging	events_b1b926cb789dafa4	f	f	t	f	1	3	9	11	16442	5d8d6d68e671dce191402985d7e2cabd	2026-11-24 12:12:43.365142+00
1	dfa651f611567a13e5d44c82659975e5014359a42e353697703726ad8bb26112	events	"public"."events"	inrush_staging	events_dfa651f611567a13	f	f	t	f	1	3	0	2	16448	dc4b387dcf87ffbd8a9ae1a68e4fd691	2026-11-24 12:12:43.445799+00
\.


--
-- Data for Name: events_b1b926cb789dafa4; Type: TABLE DATA; Schema: inrush_staging; Owner: -
--

COPY inrush_staging.events_b1b926cb789dafa4 (id, note) FROM stdin;
9	note 9
10	note 10
11	note 11
\.


--
-- Data for Name: events_dfa651f611567a13; Type: TABLE DATA; Schema: inrush_staging; Owner: -
--

COPY inrush_staging.events_dfa651f611567a13 (id, note) FROM stdin;
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


