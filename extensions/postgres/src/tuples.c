/*
 * The ways "tuples" and "pages": the decoder forms tuples in an arena. heap_multi_insert stores them, as for COPY, or
 * pages.c puts them on pages. If the columns are not in the table's order, the decoder makes Datums (rows.c), and the
 * server's heap_form_tuple makes tuples of them.
 */
#include "batch.h"

#include "access/htup_details.h"
#include "commands/progress.h"
#include "pgstat.h"
#include "utils/memutils.h"

/* As many as COPY stores at once. */
#define BATCH_TUPLES 1000
/* A larger tuple enlarges the arena. */
#define ARENA_SIZE (256 * 1024)
/* An arena that a large tuple has made larger than this is freed, so that no batch fills it. */
#define ARENA_KEPT (8 * 1024 * 1024)

typedef struct TupleLoad
{
	Load	   *load;
	char	   *arena;
	size_t		arena_size;
	DecoderTuple *places;		/* in the arena */
	HeapTupleData *tuples;
	TupleTableSlot **slots;

	EState	   *estate;
	ResultRelInfo *result;
	TupleTableSlot *checked_slot;	/* of the row that is checked */
	bool		has_checks;
	size_t		checked;		/* tuples of this batch that are */

	CommandId	command;
	int			options;
	BulkInsertState bulk;
	PageWriter *pages;			/* for the way "pages", else NULL */
	MemoryContext insert;		/* what heap_multi_insert leaves behind */
	MemoryContext values;		/* what a receive function does */
	MemoryContext formed;		/* tuples of heap_form_tuple, until they are stored; else NULL */
} TupleLoad;

/*
 * A slot whose tuple is in the arena. It is the server's slot for heap tuples, but "materialize" leaves the tuple where
 * it is: the arena lives until the batch is stored.
 */
static TupleTableSlotOps arena_slot;

static void
arena_slot_materialize(TupleTableSlot *slot)
{
}

static HeapTuple
arena_slot_tuple(TupleTableSlot *slot)
{
	return ((HeapTupleTableSlot *) slot)->tuple;
}

static void
arena_slot_store(TupleTableSlot *slot, HeapTuple tuple)
{
	HeapTupleTableSlot *heap = (HeapTupleTableSlot *) slot;

	slot->tts_nvalid = 0;
	heap->tuple = tuple;
	heap->off = 0;
	slot->tts_flags &= ~(TTS_FLAG_EMPTY | TTS_FLAG_SHOULDFREE);
	slot->tts_tableOid = tuple->t_tableOid;
}

/* Gives the server's checks the table and columns. */
static void
prepare_checks(TupleLoad *state, ParseState *pstate)
{
	Load	   *load = state->load;
	TupleConstr *constr = RelationGetDescr(load->rel)->constr;

	state->has_checks = constr != NULL && constr->num_check > 0;
	state->estate = CreateExecutorState();
#if PG_VERSION_NUM >= 180000
	ExecInitRangeTable(state->estate, pstate->p_rtable, pstate->p_rteperminfos,
					   bms_make_singleton(1));
#elif PG_VERSION_NUM >= 160000
	ExecInitRangeTable(state->estate, pstate->p_rtable, pstate->p_rteperminfos);
#else
	ExecInitRangeTable(state->estate, pstate->p_rtable);
#endif
	state->result = makeNode(ResultRelInfo);
	ExecInitResultRelation(state->estate, state->result, 1);
	state->checked_slot = MakeSingleTupleTableSlot(RelationGetDescr(load->rel), &arena_slot);
}

/* The server's structure for a tuple in the arena. */
static void
set_tuple(TupleLoad *state, size_t i)
{
	HeapTuple	tuple = &state->tuples[i];

	if (state->formed == NULL)
	{
		tuple->t_len = state->places[i].len;
		tuple->t_data = (HeapTupleHeader) (state->arena + state->places[i].offset);
	}
	tuple->t_tableOid = RelationGetRelid(state->load->rel);
	ItemPointerSetInvalid(&tuple->t_self);
}

/* Checks the unchecked rows of the batch, in order, before an error of a later row is reported. */
static void
check_rows(TupleLoad *state)
{
	Load	   *load = state->load;
	size_t		count = load->decoder.tuples;

	if (!state->has_checks)
	{
		state->checked = count;
		return;
	}
	load->error_column = NULL;
	for (; state->checked < count; state->checked++)
	{
		load->error_line = load->rows + state->checked + 1;
		set_tuple(state, state->checked);
		arena_slot_store(state->checked_slot, &state->tuples[state->checked]);
		ResetPerTupleExprContext(state->estate);
		ExecConstraints(state->result, state->checked_slot, state->estate);
	}
}

/* The last tuple of the batch has a NULL that is refused: the server says so. */
static void
refuse_null(TupleLoad *state)
{
	size_t		last = state->load->decoder.tuples - 1;

	check_rows(state);
	state->load->error_line = state->load->rows + last + 1;
	state->load->error_column = NULL;
	set_tuple(state, last);
	arena_slot_store(state->checked_slot, &state->tuples[last]);
	ExecConstraints(state->result, state->checked_slot, state->estate);
	elog(ERROR, "the decoder of inrush_fastcopy found a NULL that the table takes");
}

/* Stores the batch; errors are reported for this line, which is the last one that was read. */
static void
store_batch(TupleLoad *state, uint64 line)
{
	Load	   *load = state->load;
	size_t		count = load->decoder.tuples;
	MemoryContext before;

	check_rows(state);
	if (count > 0)
	{
		for (size_t i = 0; i < count; i++)
		{
			set_tuple(state, i);
			arena_slot_store(state->slots[i], &state->tuples[i]);
		}
		load->error_line = line;
		load->error_column = NULL;
		before = MemoryContextSwitchTo(state->insert);
#if HAS_WAY_PAGES
		if (state->pages != NULL)
		{
			for (size_t i = 0; i < count; i++)
				pages_add(state->pages, &state->tuples[i]);
		}
		else
#endif
			heap_multi_insert(load->rel, state->slots, count, state->command, state->options,
							  state->bulk);
		MemoryContextSwitchTo(before);
		MemoryContextReset(state->insert);
		load->rows += count;
		pgstat_progress_update_param(PROGRESS_COPY_TUPLES_PROCESSED, load->rows);
	}
	load->decoder.tuples = 0;
	load->decoder.arena_used = 0;
	state->checked = 0;
	if (state->formed != NULL)
		MemoryContextReset(state->formed);
	if (state->arena_size > ARENA_KEPT)
	{
		pfree(state->arena);
		state->arena = palloc(ARENA_SIZE);
		state->arena_size = ARENA_SIZE;
	}
	CHECK_FOR_INTERRUPTS();
}

/* Calls the receive function that the decoder asks for, and gives it the value. */
static void
receive_value(Batch *batch, MemoryContext received)
{
	Load	   *load = batch->load;
	Decoder    *decoder = &load->decoder;
	Form_pg_attribute att = columns_attribute(load, decoder->column);
	MemoryContext before;
	char		room[sizeof(Datum)];
	const char *bytes = NULL;
	size_t		len = 0;
	bool		isnull;
	Datum		value;
	Placement	placement = PLACE_FIXED;

	batch_check(batch);
	MemoryContextReset(received);
	before = MemoryContextSwitchTo(received);
	value = columns_receive(load, &isnull);
	if (!isnull)
		placement = columns_placement(att, &value, room, &bytes, &len);
	MemoryContextSwitchTo(before);
	if (isnull)
	{
		inrush_fastcopy_give_null(decoder, load->columns, load->count);
		return;
	}
	while (!inrush_fastcopy_give(decoder, load->columns, load->count, batch->arena,
								 batch->arena_size, bytes, len, placement))
	{
		if (decoder->tuples > 0)
		{
			/* The row begins again, in an empty arena. */
			inrush_fastcopy_restart_row(decoder);
			batch_store(batch, decoder->line);
			return;
		}
		batch->arena = rows_grow_arena(batch->arena, &batch->arena_size);
	}
}

/* Loads rows whose tuples the decoder makes: all columns of the table, in its order. */
static void
load_in_order(Batch *batch, MemoryContext received)
{
	Load	   *load = batch->load;
	bool		over = false;

	while (!over)
	{
		int			status = inrush_fastcopy_decode(&load->decoder, load->columns, load->count,
													load->input.data, load->input.len,
													batch->arena, batch->arena_size,
													batch->places, BATCH_TUPLES);

		switch (status)
		{
			case DECODER_NEED_INPUT:
				/* An error of a message is reported after the errors of rows before it. */
				check_rows(state);
				errors_place_input(load);
				(void) client_read(&load->input, &load->decoder);
				pgstat_progress_update_param(PROGRESS_COPY_BYTES_PROCESSED, load->input.bytes);
				break;
			case DECODER_BATCH_FULL:
				batch_store(batch, load->decoder.line);
				break;
			case DECODER_NEED_ROOM:
				batch->arena = rows_grow_arena(batch->arena, &batch->arena_size);
				break;
			case DECODER_NEED_VALUE:
				receive_value(batch, received);
				break;
			case DECODER_NULL_REFUSED:
				batch_refuse_null(batch);
				break;
			case DECODER_END:
				/* The end counts as a line, as in COPY. */
				batch_store(batch, load->rows + load->decoder.tuples + 1);
				over = true;
				break;
			default:
				batch_check(batch);
				errors_of_stream(load, status);
		}
	}
}

/* True if a row has NULL in a NOT NULL column. */
static bool
has_refused_null(TupleDesc desc, const bool *nulls)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (nulls[i] && att->attnotnull && !att->attisdropped)
			return true;
	}
	return false;
}

/* Loads rows in the order of the stream; each is checked before the next one is read, as in COPY. */
static void
load_of_wire(Batch *batch, MemoryContext received)
{
	Load	   *load = batch->load;
	TupleDesc	desc = RelationGetDescr(load->rel);
	RowReader  *reader = rows_begin(load);
	Datum	   *values = palloc0(sizeof(Datum) * desc->natts);
	bool	   *nulls = palloc(sizeof(bool) * desc->natts);
	size_t		bytes = 0;

	/* Columns that are not in the stream stay NULL. */
	memset(nulls, true, sizeof(bool) * desc->natts);
	for (;;)
	{
		MemoryContext before;
		HeapTuple	tuple;
		bool		is_row;

		MemoryContextReset(received);
		before = MemoryContextSwitchTo(received);
		is_row = rows_next(reader, values, nulls);
		MemoryContextSwitchTo(before);
		if (!is_row)
			break;
		before = MemoryContextSwitchTo(batch->formed);
		tuple = heap_form_tuple(desc, values, nulls);
		MemoryContextSwitchTo(before);
		batch->tuples[load->decoder.tuples++] = *tuple;
		if (has_refused_null(desc, nulls))
			batch_refuse_null(batch);
		batch_check(batch);
		bytes += tuple->t_len;
		if (load->decoder.tuples == BATCH_TUPLES || bytes >= BATCH_BYTES)
		{
			batch_store(batch, load->decoder.line);
			bytes = 0;
		}
	}
	/* The end counts as a line, as in COPY. */
	batch_store(batch, load->rows + load->decoder.tuples + 1);
}

/* Loads all rows of the client. */
void
load_tuples(Load *load, ParseState *pstate)
{
	TupleLoad	state = {.load = load};

	arena_slot = TTSOpsHeapTuple;
	arena_slot.materialize = arena_slot_materialize;
	arena_slot.get_heap_tuple = arena_slot_tuple;

	state.tuples = palloc0(sizeof(HeapTupleData) * BATCH_TUPLES);
	state.slots = palloc(sizeof(TupleTableSlot *) * BATCH_TUPLES);
	/* Nothing reads values from these. */
	for (int i = 0; i < BATCH_TUPLES; i++)
		state.slots[i] = MakeTupleTableSlot(NULL, &arena_slot);
	prepare_checks(&state, pstate);
	state.command = GetCurrentCommandId(true);
	state.options = insert_options(load);
	state.bulk = GetBulkInsertState();
#if HAS_WAY_PAGES
	if (load->way == WAY_PAGES)
		state.pages = pages_begin(load, state.command, state.options);
#endif
	state.insert = AllocSetContextCreate(CurrentMemoryContext, "inrush_fastcopy insert",
										 ALLOCSET_DEFAULT_SIZES);
	state.values = AllocSetContextCreate(CurrentMemoryContext, "inrush_fastcopy values",
										 ALLOCSET_DEFAULT_SIZES);

	if (load->of_wire)
		load_of_wire(batch, received);
	else
		load_in_order(batch, received);
	batch_finish(batch);
}
