/*
 * The way "executor": the server's own CopyFrom, with triggers, defaults, routing, indexes and generated columns, but
 * with rows of our decoder. CopyFrom asks a function of its state for each row since PostgreSQL 18: we set ours.
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

#define ARENA_SIZE (64 * 1024)

/* The kinds of a Datum, as decoder/src/datums.rs has them. */
#define KIND_NULL 1
#define KIND_OFFSET 2

/* A COPY FROM STDIN runs in no other, so there is one at most. */
static struct
{
	Load	   *load;
	CopyFromState copy;
	char	   *arena;
	size_t		arena_size;
	uint64	   *values;			/* a place for each column of the decoder */
	uint8	   *kinds;
}			running;

/* The eleven bytes of the signature, no flags, no extension. */
static const char no_header[19] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";

/* CopyFrom reads a header before it reads rows: not the client's, which our decoder reads. */
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

static void
grow_arena(void)
{
	size_t		larger = running.arena_size * 2;

	if (larger > MaxAllocSize && running.arena_size < MaxAllocSize)
		larger = MaxAllocSize;
	running.arena = repalloc(running.arena, larger);
	running.arena_size = larger;
}

/* Reads from the client. The server sets its context of errors when its header is read: before ours is, there is none. */
static void
read_more(Load *load)
{
	ErrorContextCallback *context = error_context_stack;

	errors_place_input(load);
	if (load->decoder.phase < DECODER_PHASE_ROWS)
		error_context_stack = context->previous;
	(void) client_read(&load->input, &load->decoder);
	error_context_stack = context;
}

/* One row for CopyFrom; the current memory context lives as long as the row. */
static bool
one_row(CopyFromState copy, ExprContext *econtext, Datum *values, bool *nulls)
{
	Load	   *load = running.load;
	Decoder    *decoder = &load->decoder;

	for (;;)
	{
		int			status = inrush_fastcopy_row(decoder, load->columns, load->count,
												 load->input.data, load->input.len,
												 running.arena, running.arena_size,
												 running.values, running.kinds);

		switch (status)
		{
			case DECODER_NEED_INPUT:
				read_more(load);
				pgstat_progress_update_param(PROGRESS_COPY_BYTES_PROCESSED, load->input.bytes);
				break;
			case DECODER_NEED_ROOM:
				grow_arena();
				break;
			case DECODER_NEED_VALUE:
				{
					size_t		column = decoder->column;
					bool		isnull;

					running.values[column] = columns_receive(load, &isnull);
					running.kinds[column] = isnull ? KIND_NULL : 0;
					inrush_fastcopy_field_done(decoder);
					break;
				}
			case DECODER_ROW:
				copy->cur_lineno = decoder->line;
				copy->cur_attname = NULL;
				for (int i = 0; i < load->count; i++)
				{
					int			place = load->attnos[i] - 1;

					nulls[place] = running.kinds[i] == KIND_NULL;
					values[place] = running.kinds[i] == KIND_OFFSET ?
						PointerGetDatum(running.arena + running.values[i]) : (Datum) running.values[i];
				}
				return true;
			case DECODER_END:
				/* The end counts as a line, as in COPY. */
				copy->cur_lineno = decoder->line + (decoder->phase == DECODER_PHASE_TRAILER ? 0 : 1);
				copy->cur_attname = NULL;
				return false;
			default:
				errors_of_stream(load, status);
		}
	}
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

	running.load = load;
	running.copy = copy;
	running.arena = palloc(ARENA_SIZE);
	running.arena_size = ARENA_SIZE;
	running.values = palloc0(sizeof(uint64) * Max(load->count, 1));
	running.kinds = palloc0(sizeof(uint8) * Max(load->count, 1));
	copy->routine = &routine;
	pgstat_progress_update_param(PROGRESS_COPY_TYPE, PROGRESS_COPY_TYPE_PIPE);
	load->rows = CopyFrom(copy);
	EndCopyFrom(copy);
	running.load = NULL;
	running.copy = NULL;
}

#endif
