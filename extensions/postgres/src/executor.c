/*
 * The way "executor": the server's own CopyFrom, with triggers, defaults, routing, indexes and generated columns, but
 * with rows of this decoder. Since PostgreSQL 18, CopyFrom gets each row from a function of its state, which is set
 * here.
 */
#include "fastcopy.h"

#if HAS_WAY_EXECUTOR

#include "commands/copy.h"
#include "commands/copyapi.h"
#include "commands/copyfrom_internal.h"
#include "commands/progress.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "pgstat.h"
#include "utils/memutils.h"

/* A COPY FROM STDIN never runs inside another one, so there is at most one. */
static struct
{
	CopyFromState copy;
	RowReader  *rows;
}			running;

/* The eleven bytes of the signature, no flags, no extension. */
static const char no_header[19] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";

/* BeginCopyFrom reads a header. It gets this one; the decoder reads the client's header. */
static int
give_header(void *to, int min, int max)
{
	int			len = Min(max, (int) sizeof(no_header));

	memcpy(to, no_header, len);
	return len;
}

/* Tells the server where the load is, for the context of errors. */
void
executor_place(Load *load)
{
	running.copy->cur_lineno = load->error_line;
	running.copy->cur_attname = load->error_column;
}

/* One row for CopyFrom; the current memory context lives as long as the row. */
static bool
one_row(CopyFromState copy, ExprContext *econtext, Datum *values, bool *nulls)
{
	return rows_next(running.rows, values, nulls);
}

static void
nothing_in(CopyFromState copy, Oid type, FmgrInfo *function, Oid *ioparam)
{
}

static void
nothing_at_start(CopyFromState copy, TupleDesc desc)
{
}

static void
nothing_at_end(CopyFromState copy)
{
}

static const CopyFromRoutine routine = {
	.CopyFromInFunc = nothing_in,
	.CopyFromStart = nothing_at_start,
	.CopyFromOneRow = one_row,
	.CopyFromEnd = nothing_at_end,
};

/* Loads all rows of the client. */
void
load_executor(Load *load, ParseState *pstate, CopyStmt *stmt)
{
	List	   *options = list_make2(makeDefElem("format", (Node *) makeString("binary"), -1),
									 makeDefElem("freeze", (Node *) makeBoolean(load->freeze), -1));
	CopyFromState copy = BeginCopyFrom(pstate, load->rel, NULL, NULL, false, give_header,
									   stmt->attlist, options);

	running.copy = copy;
	running.rows = rows_begin(load);
	copy->routine = &routine;
	pgstat_progress_update_param(PROGRESS_COPY_TYPE, PROGRESS_COPY_TYPE_PIPE);
	load->rows = CopyFrom(copy);
	EndCopyFrom(copy);
	running.copy = NULL;
	running.rows = NULL;
}

#endif
