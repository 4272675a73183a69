/*
 * The ways "tuples" and "pages": the rows of the client become tuples of a batch (batch.c). Usually the decoder makes
 * them in the batch's arena. If the columns are not in the table's order, the decoder makes Datums (rows.c), and the
 * server's heap_form_tuple makes tuples of them.
 */
#include "batch.h"

#include "access/htup_details.h"
#include "commands/progress.h"
#include "pgstat.h"
#include "utils/memutils.h"

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
				batch_check(batch);
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
	Batch	   *batch = batch_begin(load, pstate);
	MemoryContext received = AllocSetContextCreate(CurrentMemoryContext, "inrush_fastcopy values",
												   ALLOCSET_DEFAULT_SIZES);

	if (load->of_wire)
		load_of_wire(batch, received);
	else
		load_in_order(batch, received);
	batch_finish(batch);
}
