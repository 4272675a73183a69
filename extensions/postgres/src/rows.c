/*
 * Rows as Datums, in the order of the stream: for the executor, and for streams whose columns are not in the table's
 * order. Receive functions are called in this order, too, so an error is about the same field as in COPY.
 */
#include "fastcopy.h"

#include "commands/progress.h"
#include "pgstat.h"
#include "utils/memutils.h"

/* A row that needs more enlarges it. */
#define ARENA_SIZE (64 * 1024)

/* The kinds of a Datum, as decoder/src/datums.rs has them. */
#define KIND_NULL 1
#define KIND_OFFSET 2

struct RowReader
{
	Load	   *load;
	char	   *arena;
	size_t		arena_size;
	uint64	   *values;			/* a place for each column of the decoder */
	uint8	   *kinds;
};

/* Begins to read; the reader lives as long as the current memory context. */
RowReader *
rows_begin(Load *load)
{
	RowReader  *reader = palloc(sizeof(RowReader));

	reader->load = load;
	reader->arena = palloc(ARENA_SIZE);
	reader->arena_size = ARENA_SIZE;
	reader->values = palloc0(sizeof(uint64) * Max(load->count, 1));
	reader->kinds = palloc0(sizeof(uint8) * Max(load->count, 1));
	return reader;
}

/* A larger arena with the same bytes. */
char *
rows_grow_arena(char *arena, size_t *size)
{
	size_t		larger = *size * 2;

	/* A row of 1 GB fails here, as it does in COPY. */
	if (larger > MaxAllocSize && *size < MaxAllocSize)
		larger = MaxAllocSize;
	arena = repalloc(arena, larger);
	*size = larger;
	return arena;
}

/*
 * Reads from the client. CopyFrom sets its error context before the client's header is read here, but COPY sets it after
 * reading the header.
 */
static void
read_more(Load *load)
{
	ErrorContextCallback *context = error_context_stack;

	errors_place_input(load);
	if (load->way == WAY_EXECUTOR && load->decoder.phase < DECODER_PHASE_ROWS)
		error_context_stack = context->previous;
	(void) client_read(&load->input, &load->decoder);
	error_context_stack = context;
	pgstat_progress_update_param(PROGRESS_COPY_BYTES_PROCESSED, load->input.bytes);
}

/*
 * The next row, with each value at its column's index in the table; other elements are not changed. False if there is
 * none. Results of receive functions are in the current memory context; the rest is in the reader until the next row.
 */
bool
rows_next(RowReader *reader, Datum *values, bool *nulls)
{
	Load	   *load = reader->load;
	Decoder    *decoder = &load->decoder;

	for (;;)
	{
		int			status = inrush_fastcopy_row(decoder, load->columns, load->count,
												 load->input.data, load->input.len,
												 reader->arena, reader->arena_size,
												 reader->values, reader->kinds);

		switch (status)
		{
			case DECODER_NEED_INPUT:
				read_more(load);
				break;
			case DECODER_NEED_ROOM:
				reader->arena = rows_grow_arena(reader->arena, &reader->arena_size);
				break;
			case DECODER_NEED_VALUE:
				{
					size_t		column = decoder->column;
					bool		isnull;

					reader->values[column] = columns_receive(load, &isnull);
					reader->kinds[column] = isnull ? KIND_NULL : 0;
					inrush_fastcopy_field_done(decoder);
					break;
				}
			case DECODER_ROW:
				errors_place(load, NULL);
				for (int i = 0; i < load->count; i++)
				{
					int			place = load->attnos[i] - 1;

					nulls[place] = reader->kinds[i] == KIND_NULL;
					values[place] = reader->kinds[i] == KIND_OFFSET ?
						PointerGetDatum(reader->arena + reader->values[i]) : (Datum) reader->values[i];
				}
				return true;
			case DECODER_END:
				errors_place_input(load);
				return false;
			default:
				errors_of_stream(load, status);
		}
	}
}
