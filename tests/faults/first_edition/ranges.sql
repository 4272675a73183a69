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
-- Name: events_720c0591e84683ac; Type: TABLE; Schema: inrush_staging; Owner: -
--

CREATE TABLE inrush_staging.events_720c0591e84683ac (
    id integer NOT NULL,
    note text
);


--
-- Data for Name: run; Type: TABLE DATA; Schema: inrush; Owner: -
--

COPY inrush.run (run_id, run_key, name, package, package_hash, targets, target_oids, epoch, state, holder, started_at, held_since, switched_at) FROM stdin;
1	d01a7804e3e69c4e79ba86481ea1694491a9afa2e441a8d1e68f94b768a60f45	20261124T121247Z-test-16e820	test	1db45e1cdf2af4a0b0254b722d1b501dba82dda8fdb30217c7cdacd867de17c9	{"\\"public\\".\\"events\\""}	\N	1	loading	process 9287 on vm	2026-11-24 12:12:47.906018+00	2026-11-24 12:12:47.906018+00	\N
\.


--
-- Data for Name: shard; Type: TABLE DATA; Schema: inrush; Owner: -
--

COPY inrush.shard (run_id, unit_key, shard_key, file_key, file, byte_start, byte_end, file_bytes, file_modified_ns, file_state, epoch, rows_read, rows_loaded, rows_rejected, rows_skipped, bytes_read, content_hash, text_start, text_end, tally, trailer, refused, committed_at) FROM stdin;
1	720c0591e84683acd4c037eaf197527291ee46fce7cbcb4c71a0ebc51ac68834	5465ed6a890e30659607943c136a3631a362415e8901ee69c01080f569ed0efc	22df0926bb289f98bb54432f10718807b3c7202004cefe6e6c1daa30104aed5f	large.tbl	9086334	18172669	27259004	1790000000123456789	10078227:1795522367548704023	1	90878	17	0	90861	9086304	xxh3:f808a07ccab5a6ef	9086396	18172700	\N	\N	\N	2026-11-24 12:12:47.973759+00
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
1	720c0591e84683acd4c037eaf197527291ee46fce7cbcb4c71a0ebc51ac68834	events	"public"."events"	inrush_staging	events_720c0591e84683ac	t	f	f	f	1	\N	\N	\N	16728	f36726017277ef9c4cd0ffce7a6f87a4	2026-11-24 12:12:47.921575+00
\.


--
-- Data for Name: events_720c0591e84683ac; Type: TABLE DATA; Schema: inrush_staging; Owner: -
--

COPY inrush_staging.events_720c0591e84683ac (id, note) FROM stdin;
18	note 18
19	note 19
20	note 20
21	note 21
22	note 22
23	note 23
24	note 24
25	note 25
26	note 26
27	note 27
28	note 28
29	note 29
30	note 30
31	note 31
32	note 32
33	note 33
34	note 34
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


