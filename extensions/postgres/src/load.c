/*
 * One load, from the statement to the command tag, like DoCopy, BeginCopyFrom and the beginning of CopyFrom in the
 * server.
 */
#include "fastcopy.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/copy.h"
#include "commands/defrem.h"
#include "commands/progress.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "parser/parse_relation.h"
#include "pgstat.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#if PG_VERSION_NUM >= 160000
#define NEW_STORAGE_SUBID(rel) ((rel)->rd_newRelfilelocatorSubid)
#define FIRST_STORAGE_SUBID(rel) ((rel)->rd_firstRelfilelocatorSubid)
#else
#define NEW_STORAGE_SUBID(rel) ((rel)->rd_newRelfilenodeSubid)
#define FIRST_STORAGE_SUBID(rel) ((rel)->rd_firstRelfilenodeSubid)
#endif

LastLoad	last_load;

/* The options of the statement. Options that have no meaning for binary data are refused, as by COPY. */
static void
read_options(Load *load, CopyStmt *stmt, char **key)
{
	ListCell   *cell;

	foreach(cell, stmt->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "format") == 0)
			continue;
		else if (strcmp(option->defname, "freeze") == 0)
			load->freeze = defGetBoolean(option);
		else if (strcmp(option->defname, "way") == 0)
			load->way = way_of_name(defGetString(option));
		else if (strcmp(option->defname, "key") == 0)
			*key = defGetString(option);
		else
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("COPY (FORMAT inrush) takes no option \"%s\"", option->defname),
					 errhint("Its options are freeze, key and way.")));
	}
	if (stmt->whereClause != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("COPY (FORMAT inrush) takes no WHERE")));
}

/* INSERT on the table or on all columns that are loaded, by the server's own check, hooks included. */
static void
check_privileges(ParseState *pstate, Relation rel, List *attnums)
{
	ParseNamespaceItem *item = addRangeTableEntryForRelation(pstate, rel, RowExclusiveLock, NULL,
															 false, false);
	Bitmapset **inserted;
	ListCell   *cell;

#if PG_VERSION_NUM >= 160000
	item->p_perminfo->requiredPerms = ACL_INSERT;
	inserted = &item->p_perminfo->insertedCols;
#else
	item->p_rte->requiredPerms = ACL_INSERT;
	inserted = &item->p_rte->insertedCols;
#endif
	foreach(cell, attnums)
		*inserted = bms_add_member(*inserted,
								   lfirst_int(cell) - FirstLowInvalidHeapAttributeNumber);
#if PG_VERSION_NUM >= 160000
	ExecCheckPermissions(pstate->p_rtable, list_make1(item->p_perminfo), true);
#else
	ExecCheckRTPerms(pstate->p_rtable, true);
#endif
	if (check_enable_rls(RelationGetRelid(rel), InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("COPY FROM not supported with row-level security"),
				 errhint("Use INSERT statements instead.")));
}

/* Checks FREEZE, which is allowed only if nobody could have seen the table: the four conditions of CopyFrom. */
static void
check_freeze(Relation rel)
{
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot perform COPY FREEZE on a partitioned table")));
	InvalidateCatalogSnapshot();
	if (!ThereAreNoPriorRegisteredSnapshots() || !ThereAreNoReadyPortals())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot perform COPY FREEZE because of prior transaction activity")));
	if (rel->rd_createSubid != GetCurrentSubTransactionId() &&
		NEW_STORAGE_SUBID(rel) != GetCurrentSubTransactionId())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot perform COPY FREEZE because the table was not created or truncated in the current subtransaction")));
}

/* The options of heap_multi_insert. */
int
insert_options(Load *load)
{
	int			options = 0;

	if (load->rel->rd_createSubid != InvalidSubTransactionId ||
		FIRST_STORAGE_SUBID(load->rel) != InvalidSubTransactionId)
		options |= TABLE_INSERT_SKIP_FSM;
	if (load->freeze)
		options |= TABLE_INSERT_FROZEN;
	return options;
}

/* The column whose smallest and largest value are requested. */
static AttrNumber
key_column(Load *load, const char *name)
{
	AttrNumber	key = get_attnum(RelationGetRelid(load->rel), name);

	if (key <= 0 || !list_member_int(load->attnums, key))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("COPY loads no column \"%s\", which is its key", name)));
	switch (TupleDescAttr(RelationGetDescr(load->rel), key - 1)->atttypid)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
			return key;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			/* With a precision, the type rounds values, which is not visible here. */
			if (TupleDescAttr(RelationGetDescr(load->rel), key - 1)->atttypmod < 0)
				return key;
			/* FALLTHROUGH */
		default:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("column \"%s\" cannot be the key of COPY (FORMAT inrush)", name),
					 errhint("A key is of an integer type, a date or a timestamp without a precision.")));
	}
	return 0;
}

/* A key as the session writes values of its type; in TopMemoryContext. */
static char *
key_text(Load *load, int64 key)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(load->rel), load->key - 1);
	Oid			output;
	bool		is_varlena;
	Datum		value;

	getTypeOutputInfo(att->atttypid, &output, &is_varlena);
	switch (att->atttypid)
	{
		case INT2OID:
			value = Int16GetDatum((int16) key);
			break;
		case INT4OID:
		case DATEOID:
			value = Int32GetDatum((int32) key);
			break;
		default:
			value = Int64GetDatum(key);
	}
	return MemoryContextStrdup(TopMemoryContext, OidOutputFunctionCall(output, value));
}

/* Stores the facts for last_load(). */
static void
remember(Load *load)
{
	char	   *smallest = NULL;
	char	   *largest = NULL;

	if (load->key != 0 && load->decoder.has_key)
	{
		smallest = key_text(load, load->decoder.key_min);
		largest = key_text(load, load->decoder.key_max);
	}
	if (last_load.smallest != NULL)
		pfree(last_load.smallest);
	if (last_load.largest != NULL)
		pfree(last_load.largest);
	last_load.is_set = true;
	last_load.relid = RelationGetRelid(load->rel);
	last_load.rows = load->rows;
	last_load.bytes = load->input.bytes;
	last_load.way = load->way;
	memset(last_load.key, 0, NAMEDATALEN);
	if (load->key != 0)
		strlcpy(last_load.key,
				NameStr(TupleDescAttr(RelationGetDescr(load->rel), load->key - 1)->attname),
				NAMEDATALEN);
	last_load.smallest = smallest;
	last_load.largest = largest;
}

/* Runs the statement and returns the number of rows. */
uint64
load_run(CopyStmt *stmt, const char *query)
{
	Load	   *load = palloc0(sizeof(Load));
	ParseState *pstate = make_parsestate(NULL);
	char	   *key = NULL;
	char	   *reason;
	uint64		rows;
	ErrorContextCallback context;

	pstate->p_sourcetext = query;
	read_options(load, stmt, &key);
	if (whereToSendOutput != DestRemote)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("COPY (FORMAT inrush) needs a client")));
	/* standard_ProcessUtility, which this statement does not reach, does so for COPY. */
	PreventCommandIfParallelMode("COPY");
	PreventCommandDuringRecovery("COPY");

	load->rel = table_openrv(stmt->relation, RowExclusiveLock);
	load->attnums = CopyGetAttnums(RelationGetDescr(load->rel), load->rel, stmt->attlist);
	check_privileges(pstate, load->rel, load->attnums);
	if (XactReadOnly && !load->rel->rd_islocaltemp)
		PreventCommandIfReadOnly("COPY FROM");
	load->way = refusal_choose(load->rel, load->attnums, load->way, &reason);
	if (reason != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("COPY (FORMAT inrush) cannot load this table: %s", reason),
				 errhint("Use FORMAT binary: the data are the same.")));
	if (key != NULL)
		load->key = key_column(load, key);
	columns_plan(load);
	if (load->freeze)
		check_freeze(load->rel);

	pgstat_progress_start_command(PROGRESS_COMMAND_COPY, RelationGetRelid(load->rel));
	pgstat_progress_update_param(PROGRESS_COPY_COMMAND, PROGRESS_COPY_COMMAND_FROM);
	pgstat_progress_update_param(PROGRESS_COPY_TYPE, PROGRESS_COPY_TYPE_PIPE);
	client_begin(&load->input, load->decoder.fields);

	context.callback = errors_context;
	context.arg = load;
	context.previous = error_context_stack;
	error_context_stack = &context;
#if HAS_WAY_EXECUTOR
	if (load->way == WAY_EXECUTOR)
		load_executor(load, pstate, stmt);
	else
#endif
		load_tuples(load, pstate);
	error_context_stack = context.previous;

	pgstat_progress_end_command();
	remember(load);
	rows = load->rows;
	table_close(load->rel, NoLock);
	return rows;
}
