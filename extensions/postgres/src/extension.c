/*
 * The hook for COPY ... (FORMAT inrush), and the SQL functions.
 *
 * The first call of one of its functions loads the library in a session. The hook handles only its own format, only if
 * this session has called open(), and only if the role that runs COPY may call open() itself: without EXECUTE on it,
 * the decoder cannot be reached.
 */
#include "fastcopy.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/copy.h"
#include "commands/defrem.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "tcop/cmdtag.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#if PG_VERSION_NUM >= 180000
PG_MODULE_MAGIC_EXT(.name = "inrush_fastcopy", .version = INRUSH_FASTCOPY_VERSION);
#else
PG_MODULE_MAGIC;
#endif

PGDLLEXPORT void _PG_init(void);
PG_FUNCTION_INFO_V1(inrush_fastcopy_open);
PG_FUNCTION_INFO_V1(inrush_fastcopy_refusal);
PG_FUNCTION_INFO_V1(inrush_fastcopy_last_load);

static ProcessUtility_hook_type next_hook;

/* The function open() that this session has called, or 0. */
static Oid	gate;

/* True if the session has called open(), and the current role may call it. */
static bool
gate_is_open(void)
{
	if (!OidIsValid(gate) || !SearchSysCacheExists1(PROCOID, ObjectIdGetDatum(gate)))
		return false;
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(ProcedureRelationId, gate, GetUserId(), ACL_EXECUTE) == ACLCHECK_OK;
#else
	return pg_proc_aclcheck(gate, GetUserId(), ACL_EXECUTE) == ACLCHECK_OK;
#endif
}

/* True if it is a COPY with this extension's format. */
static bool
is_ours(Node *statement)
{
	ListCell   *cell;

	if (!IsA(statement, CopyStmt))
		return false;
	foreach(cell, ((CopyStmt *) statement)->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "format") == 0 && option->arg != NULL &&
			IsA(option->arg, String))
			return strcmp(strVal(option->arg), "inrush") == 0 && gate_is_open();
	}
	return false;
}

static void
utility_hook(PlannedStmt *planned, const char *query, bool read_only_tree,
			 ProcessUtilityContext context, ParamListInfo params,
			 QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *completion)
{
	CopyStmt   *stmt;
	uint64		rows;

	if (!is_ours(planned->utilityStmt))
	{
		if (next_hook != NULL)
			next_hook(planned, query, read_only_tree, context, params, environment, dest, completion);
		else
			standard_ProcessUtility(planned, query, read_only_tree, context, params, environment,
									dest, completion);
		return;
	}
	stmt = (CopyStmt *) planned->utilityStmt;
	if (!stmt->is_from || stmt->filename != NULL || stmt->is_program || stmt->relation == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("FORMAT inrush is for COPY ... FROM STDIN alone")));
	if (context != PROCESS_UTILITY_TOPLEVEL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("COPY (FORMAT inrush) must be a statement of the client"),
				 errhint("Send it from the client, and not from a function.")));
	check_stack_depth();
	rows = load_run(stmt, query);
	if (completion != NULL)
		SetQueryCompletion(completion, CMDTAG_COPY, rows);
}

void
_PG_init(void)
{
	size_t		sizes[3] = {0, 0, 0};

	inrush_fastcopy_sizes(sizes);
	if (sizes[0] != sizeof(Decoder) || sizes[1] != sizeof(DecoderColumn) ||
		sizes[2] != sizeof(DecoderTuple))
		elog(ERROR, "the decoder of inrush_fastcopy was built from other sources than the rest of it");
	next_hook = ProcessUtility_hook;
	ProcessUtility_hook = utility_hook;
}

/* A row of the result type of the function that is called. */
static Datum
result_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "inrush_fastcopy was created by another script than its own");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/* open() -> (abi int, version text, ways text[]) */
Datum
inrush_fastcopy_open(PG_FUNCTION_ARGS)
{
	Datum		ways[3];
	int			count = 0;
	Datum		values[3];
	bool		nulls[3] = {false, false, false};

	gate = fcinfo->flinfo->fn_oid;
	ways[count++] = CStringGetTextDatum("tuples");
	if (HAS_WAY_EXECUTOR)
		ways[count++] = CStringGetTextDatum("executor");
	if (HAS_WAY_PAGES)
		ways[count++] = CStringGetTextDatum("pages");
	values[0] = Int32GetDatum(INRUSH_FASTCOPY_ABI);
	values[1] = CStringGetTextDatum(INRUSH_FASTCOPY_VERSION);
	values[2] = PointerGetDatum(construct_array(ways, count, TEXTOID, -1, false, TYPALIGN_INT));
	PG_RETURN_DATUM(result_row(fcinfo, values, nulls));
}

/* refusal(regclass, text[], text) -> text */
Datum
inrush_fastcopy_refusal(PG_FUNCTION_ARGS)
{
	Relation	rel;
	List	   *names = NIL;
	Way			way;
	char	   *reason;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	way = way_of_name(text_to_cstring(PG_GETARG_TEXT_PP(2)));
	if (!PG_ARGISNULL(1))
	{
		Datum	   *columns;
		bool	   *nulls;
		int			count;

		deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false, TYPALIGN_INT,
						  &columns, &nulls, &count);
		for (int i = 0; i < count; i++)
		{
			if (nulls[i])
				ereport(ERROR,
						(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						 errmsg("a column's name is NULL")));
			names = lappend(names, makeString(TextDatumGetCString(columns[i])));
		}
	}
	rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	if (rel->rd_rel->relkind != RELKIND_RELATION &&
		rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		reason = psprintf("\"%s\" is not a table", RelationGetRelationName(rel));
	else
		reason = refusal_reason(rel, CopyGetAttnums(RelationGetDescr(rel), rel, names), way);
	relation_close(rel, AccessShareLock);
	if (reason == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(reason));
}

/* last_load() -> (relation regclass, rows bigint, bytes bigint, way text, key text, smallest text, largest text) */
Datum
inrush_fastcopy_last_load(PG_FUNCTION_ARGS)
{
	Datum		values[7];
	bool		nulls[7] = {false};

	if (!last_load.is_set)
		PG_RETURN_NULL();
	values[0] = ObjectIdGetDatum(last_load.relid);
	values[1] = Int64GetDatum(last_load.rows);
	values[2] = Int64GetDatum(last_load.bytes);
	values[3] = CStringGetTextDatum(way_name(last_load.way));
	nulls[4] = last_load.key[0] == '\0';
	values[4] = nulls[4] ? (Datum) 0 : CStringGetTextDatum(last_load.key);
	nulls[5] = last_load.smallest == NULL;
	values[5] = nulls[5] ? (Datum) 0 : CStringGetTextDatum(last_load.smallest);
	nulls[6] = last_load.largest == NULL;
	values[6] = nulls[6] ? (Datum) 0 : CStringGetTextDatum(last_load.largest);
	PG_RETURN_DATUM(result_row(fcinfo, values, nulls));
}
