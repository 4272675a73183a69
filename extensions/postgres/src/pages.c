/*
 * The way "pages": the table's pages are built here, and the server's bulk writer writes them without the shared
 * buffers, as for CREATE INDEX and CLUSTER (storage/smgr/bulk_write.c, since PostgreSQL 17). It also writes WAL and
 * checksums, and makes the pages durable if a checkpoint begins in the meantime.
 *
 * Only for a table whose storage is new in this subtransaction and empty, and which has no page in the buffers. All its
 * rows are frozen and visible from the beginning, and the visibility map is set accordingly.
 */
#include "fastcopy.h"

#if HAS_WAY_PAGES

#include "access/heapam.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/storage_xlog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/bulk_write.h"
#include "storage/predicate.h"
#include "storage/smgr.h"
#include "utils/inval.h"

/* The visibility map has two bits for each page of the table. visibilitymap.c does not export these numbers. */
#define MAP_BYTES (BLCKSZ - MAXALIGN(SizeOfPageHeaderData))
#define PAGES_PER_BYTE 4
#define PAGES_PER_MAP_PAGE (MAP_BYTES * PAGES_PER_BYTE)

struct PageWriter
{
	Relation	rel;
	BulkWriteState *bulk;
	BulkWriteBuffer buffer;		/* the page that is being filled, or NULL */
	BlockNumber block;			/* its number */
	Size		spare;			/* bytes of each page that fillfactor keeps free */
	TransactionId xid;
	CommandId	command;
	int			options;
	int64		rows;
};

/* Returns the reason why a table cannot be written in this way now, or NULL if it can. */
char *
pages_refusal(Relation rel)
{
	if (rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		return psprintf("table \"%s\" is temporary or unlogged", RelationGetRelationName(rel));
	if (RelationIsLogicallyLogged(rel))
		return psprintf("table \"%s\" takes part in logical replication", RelationGetRelationName(rel));
	return NULL;
}

/* Begins to write. The caller must have checked the conditions of FREEZE. */
PageWriter *
pages_begin(Load *load, CommandId command, int options)
{
	PageWriter *writer = palloc0(sizeof(PageWriter));

	if (!load->freeze)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("COPY (FORMAT inrush, WAY pages) needs FREEZE")));
	if (RelationGetNumberOfBlocks(load->rel) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("COPY (FORMAT inrush, WAY pages) needs an empty table")));
	CheckForSerializableConflictIn(load->rel, NULL, InvalidBlockNumber);
	writer->rel = load->rel;
	writer->spare = RelationGetTargetPageFreeSpace(load->rel, HEAP_DEFAULT_FILLFACTOR);
	writer->xid = GetCurrentTransactionId();
	writer->command = command;
	writer->options = options;
	writer->bulk = smgr_bulk_start_rel(load->rel, MAIN_FORKNUM);
	return writer;
}

static void
write_page(PageWriter *writer)
{
	if (writer->buffer == NULL)
		return;
	smgr_bulk_write(writer->bulk, writer->block++, writer->buffer, true);
	writer->buffer = NULL;
}

/* Adds a tuple, like heap_prepare_insert and RelationPutHeapTuple. */
void
pages_add(PageWriter *writer, HeapTuple tuple)
{
	HeapTupleHeader header = tuple->t_data;
	OffsetNumber offset;
	Page		page;

	header->t_infomask &= ~HEAP_XACT_MASK;
	header->t_infomask2 &= ~HEAP2_XACT_MASK;
	header->t_infomask |= HEAP_XMAX_INVALID;
	HeapTupleHeaderSetXmin(header, writer->xid);
	HeapTupleHeaderSetXminFrozen(header);
	HeapTupleHeaderSetCmin(header, writer->command);
	HeapTupleHeaderSetXmax(header, 0);
	/* The TOAST table is another table, so it is written through the buffers. */
	if (HeapTupleHasExternal(tuple) || tuple->t_len > TOAST_TUPLE_THRESHOLD)
		tuple = heap_toast_insert_or_update(writer->rel, tuple, NULL, writer->options);
	if (MAXALIGN(tuple->t_len) > MaxHeapTupleSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row is too big: size %zu, maximum size %zu",
						MAXALIGN(tuple->t_len), MaxHeapTupleSize)));

	if (writer->buffer != NULL &&
		PageGetHeapFreeSpace((Page) writer->buffer) < MAXALIGN(tuple->t_len) + writer->spare)
		write_page(writer);
	if (writer->buffer == NULL)
	{
		CHECK_FOR_INTERRUPTS();
		writer->buffer = smgr_bulk_get_buf(writer->bulk);
		PageInit((Page) writer->buffer, BLCKSZ, 0);
		PageSetAllVisible((Page) writer->buffer);
	}
	page = (Page) writer->buffer;
	offset = PageAddItem(page, (char *) tuple->t_data, tuple->t_len, InvalidOffsetNumber, false, true);
	if (offset == InvalidOffsetNumber)
		elog(ERROR, "inrush_fastcopy could not add a tuple to a page");
	header = (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, offset));
	ItemPointerSet(&header->t_ctid, writer->block, offset);
	writer->rows++;
}

/* Writes the visibility map: all pages are all-visible and all-frozen. */
static void
write_map(PageWriter *writer)
{
	SMgrRelation smgr = RelationGetSmgr(writer->rel);
	BulkWriteState *bulk;
	BlockNumber left = writer->block;

	if (left == 0)
		return;
	if (!smgrexists(smgr, VISIBILITYMAP_FORKNUM))
	{
		smgrcreate(smgr, VISIBILITYMAP_FORKNUM, false);
		if (RelationNeedsWAL(writer->rel))
			log_smgrcreate(&writer->rel->rd_locator, VISIBILITYMAP_FORKNUM);
	}
	bulk = smgr_bulk_start_rel(writer->rel, VISIBILITYMAP_FORKNUM);
	for (BlockNumber block = 0; left > 0; block++)
	{
		BulkWriteBuffer buffer = smgr_bulk_get_buf(bulk);
		BlockNumber here = Min(left, PAGES_PER_MAP_PAGE);
		uint8	   *map;

		PageInit((Page) buffer, BLCKSZ, 0);
		map = (uint8 *) PageGetContents((Page) buffer);
		memset(map, 0xff, here / PAGES_PER_BYTE);
		if (here % PAGES_PER_BYTE != 0)
			map[here / PAGES_PER_BYTE] = (1 << (2 * (here % PAGES_PER_BYTE))) - 1;
		/* The page does not have the standard layout, so the WAL gets all of it. */
		smgr_bulk_write(bulk, block, buffer, false);
		left -= here;
	}
	smgr_bulk_finish(bulk);
	RelationGetSmgr(writer->rel)->smgr_cached_nblocks[VISIBILITYMAP_FORKNUM] = InvalidBlockNumber;
	CacheInvalidateSmgr(RelationGetSmgr(writer->rel)->smgr_rlocator);
}

/* Writes the last page and the visibility map. Before this the table must not be read. */
void
pages_finish(PageWriter *writer)
{
	write_page(writer);
	smgr_bulk_finish(writer->bulk);
	write_map(writer);
	pgstat_count_heap_insert(writer->rel, writer->rows);
	pfree(writer);
}

#endif
