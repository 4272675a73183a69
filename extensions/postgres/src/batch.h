/*
 * A batch of tuples for the ways "tuples" and "pages": where they are, how they are checked, and
 * how they are stored.
 */
#ifndef INRUSH_FASTCOPY_BATCH_H
#define INRUSH_FASTCOPY_BATCH_H

#include "fastcopy.h"

#include "access/heapam.h"
#include "executor/tuptable.h"

/* As many as COPY stores at once. */
#define BATCH_TUPLES 1000
/* A larger tuple enlarges the arena. */
#define BATCH_BYTES (256 * 1024)

typedef struct Batch
{
	Load	   *load;
	char	   *arena;			/* of tuples that the decoder makes */
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
	MemoryContext formed;		/* tuples of heap_form_tuple, until they are stored; else NULL */
} Batch;

extern Batch *batch_begin(Load *load, ParseState *pstate);
extern void batch_check(Batch *batch);
extern void batch_refuse_null(Batch *batch) __attribute__((noreturn));
extern void batch_store(Batch *batch, uint64 line);
extern void batch_finish(Batch *batch);

#endif
