/*
 * The arena of a batch, the server's checks of its rows, and how it is stored: by heap_multi_insert, as COPY's rows are,
 * or on pages that are made here (pages.c).
 */
#include "batch.h"

#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "commands/progress.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/memutils.h"

/* An arena that a large tuple has made larger than this is freed, so that no batch fills it. */
#define ARENA_KEPT (8 * 1024 * 1024)

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
prepare_checks(Batch *batch, ParseState *pstate)
{
	Load	   *load = batch->load;
	TupleConstr *constr = RelationGetDescr(load->rel)->constr;

	batch->has_checks = constr != NULL && constr->num_check > 0;
	batch->estate = CreateExecutorState();
#if PG_VERSION_NUM >= 180000
	ExecInitRangeTable(batch->estate, pstate->p_rtable, pstate->p_rteperminfos,
					   bms_make_singleton(1));
#elif PG_VERSION_NUM >= 160000
	ExecInitRangeTable(batch->estate, pstate->p_rtable, pstate->p_rteperminfos);
#else
	ExecInitRangeTable(batch->estate, pstate->p_rtable);
#endif
	batch->result = makeNode(ResultRelInfo);
	ExecInitResultRelation(batch->estate, batch->result, 1);
	batch->checked_slot = MakeSingleTupleTableSlot(RelationGetDescr(load->rel), &arena_slot);
}

/* Begins with an empty batch. The columns are planned. */
Batch *
batch_begin(Load *load, ParseState *pstate)
{
	Batch	   *batch = palloc0(sizeof(Batch));

	arena_slot = TTSOpsHeapTuple;
	arena_slot.materialize = arena_slot_materialize;
	arena_slot.get_heap_tuple = arena_slot_tuple;

	batch->load = load;
	batch->tuples = palloc0(sizeof(HeapTupleData) * BATCH_TUPLES);
	batch->slots = palloc(sizeof(TupleTableSlot *) * BATCH_TUPLES);
	/* Nothing reads values from these. */
	for (int i = 0; i < BATCH_TUPLES; i++)
		batch->slots[i] = MakeSingleTupleTableSlot(NULL, &arena_slot);
	prepare_checks(batch, pstate);
	batch->command = GetCurrentCommandId(true);
	batch->options = insert_options(load);
	batch->bulk = GetBulkInsertState();
#if HAS_WAY_PAGES
	if (load->way == WAY_PAGES)
		batch->pages = pages_begin(load, batch->command, batch->options);
#endif
	batch->insert = AllocSetContextCreate(CurrentMemoryContext, "inrush_fastcopy insert",
										  ALLOCSET_DEFAULT_SIZES);
	if (load->of_wire)
		batch->formed = AllocSetContextCreate(CurrentMemoryContext, "inrush_fastcopy tuples",
											  ALLOCSET_DEFAULT_SIZES);
	else
	{
		batch->arena = palloc(BATCH_BYTES);
		batch->arena_size = BATCH_BYTES;
		batch->places = palloc(sizeof(DecoderTuple) * BATCH_TUPLES);
	}
	return batch;
}

/* The server's structure for a tuple in the arena. */
static void
set_tuple(Batch *batch, size_t i)
{
	HeapTuple	tuple = &batch->tuples[i];

	if (batch->formed == NULL)
	{
		tuple->t_len = batch->places[i].len;
		tuple->t_data = (HeapTupleHeader) (batch->arena + batch->places[i].offset);
	}
	tuple->t_tableOid = RelationGetRelid(batch->load->rel);
	ItemPointerSetInvalid(&tuple->t_self);
}

/* Checks the unchecked rows of the batch, in order, before an error of a later row is reported. */
void
batch_check(Batch *batch)
{
	Load	   *load = batch->load;
	size_t		count = load->decoder.tuples;

	if (!batch->has_checks)
	{
		batch->checked = count;
		return;
	}
	load->error_column = NULL;
	for (; batch->checked < count; batch->checked++)
	{
		load->error_line = load->rows + batch->checked + 1;
		set_tuple(batch, batch->checked);
		arena_slot_store(batch->checked_slot, &batch->tuples[batch->checked]);
		ResetPerTupleExprContext(batch->estate);
		ExecConstraints(batch->result, batch->checked_slot, batch->estate);
	}
}

/* The last tuple of the batch has a NULL that is refused: the server says so. */
void
batch_refuse_null(Batch *batch)
{
	size_t		last = batch->load->decoder.tuples - 1;

	batch_check(batch);
	batch->load->error_line = batch->load->rows + last + 1;
	batch->load->error_column = NULL;
	set_tuple(batch, last);
	arena_slot_store(batch->checked_slot, &batch->tuples[last]);
	ExecConstraints(batch->result, batch->checked_slot, batch->estate);
	elog(ERROR, "the decoder of inrush_fastcopy found a NULL that the table takes");
}

/* Stores the batch; errors are reported for this line, which is the last one that was read. */
void
batch_store(Batch *batch, uint64 line)
{
	Load	   *load = batch->load;
	size_t		count = load->decoder.tuples;
	MemoryContext before;

	batch_check(batch);
	if (count > 0)
	{
		for (size_t i = 0; i < count; i++)
		{
			set_tuple(batch, i);
			arena_slot_store(batch->slots[i], &batch->tuples[i]);
		}
		load->error_line = line;
		load->error_column = NULL;
		before = MemoryContextSwitchTo(batch->insert);
#if HAS_WAY_PAGES
		if (batch->pages != NULL)
		{
			for (size_t i = 0; i < count; i++)
				pages_add(batch->pages, &batch->tuples[i]);
		}
		else
#endif
			heap_multi_insert(load->rel, batch->slots, count, batch->command, batch->options,
							  batch->bulk);
		MemoryContextSwitchTo(before);
		MemoryContextReset(batch->insert);
		load->rows += count;
		pgstat_progress_update_param(PROGRESS_COPY_TUPLES_PROCESSED, load->rows);
	}
	load->decoder.tuples = 0;
	load->decoder.arena_used = 0;
	batch->checked = 0;
	if (batch->formed != NULL)
		MemoryContextReset(batch->formed);
	if (batch->arena_size > ARENA_KEPT)
	{
		pfree(batch->arena);
		batch->arena = palloc(BATCH_BYTES);
		batch->arena_size = BATCH_BYTES;
	}
	CHECK_FOR_INTERRUPTS();
}

/* Ends the load; the last batch is stored. */
void
batch_finish(Batch *batch)
{
#if HAS_WAY_PAGES
	if (batch->pages != NULL)
		pages_finish(batch->pages);
#endif
	FreeBulkInsertState(batch->bulk);
	table_finish_bulk_insert(batch->load->rel, batch->options);
	ExecDropSingleTupleTableSlot(batch->checked_slot);
	ExecCloseResultRelations(batch->estate);
	ExecCloseRangeTableRelations(batch->estate);
	FreeExecutorState(batch->estate);
}
