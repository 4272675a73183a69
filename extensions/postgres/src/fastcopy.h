/*
 * inrush_fastcopy: COPY ... FROM STDIN (FORMAT inrush), whose bytes are COPY BINARY's.
 *
 *	 extension.c  the hook that takes the statement, and the functions of SQL
 *	 refusal.c    which tables go by which way, and why not
 *	 load.c       one load, from the statement to the tag
 *	 columns.c    what the decoder is told of the columns, and their receive functions
 *	 client.c     the messages of the client
 *	 errors.c     COPY's errors and their context
 *	 rows.c       rows as Datums, in the order of the wire
 *	 tuples.c     the ways "tuples" and "pages": rows become tuples of a batch
 *	 batch.c      the batch: its arena, the server's checks of its rows, heap_multi_insert
 *	 pages.c      the way "pages": own pages of these tuples, written past the shared buffers (PostgreSQL 17)
 *	 executor.c   the way "executor": own decoder inside of the server's CopyFrom (PostgreSQL 18)
 */
#ifndef INRUSH_FASTCOPY_H
#define INRUSH_FASTCOPY_H

#include "postgres.h"

#include "access/attnum.h"
#include "access/htup.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "nodes/parsenodes.h"
#include "parser/parse_node.h"
#include "utils/rel.h"

#include "decoder.h"

/* The number that open() returns: a client that expects another number uses COPY. */
#define INRUSH_FASTCOPY_ABI 1
#define INRUSH_FASTCOPY_VERSION "0.1.0"

#define HAS_WAY_EXECUTOR (PG_VERSION_NUM >= 180000)
#define HAS_WAY_PAGES (PG_VERSION_NUM >= 170000)

/* The layout that the decoder writes. */
StaticAssertDecl(MAXIMUM_ALIGNOF == 8, "the decoder aligns tuples to 8 bytes");
StaticAssertDecl(SIZEOF_DATUM == 8, "the decoder writes Datums of 8 bytes");
#ifdef WORDS_BIGENDIAN
#error "the decoder is written for little-endian machines"
#endif

typedef enum Way
{
	WAY_AUTO,					/* tuples, else executor */
	WAY_TUPLES,
	WAY_EXECUTOR,
	WAY_PAGES
} Way;

/* The bytes that came from the client and are not used yet. */
typedef struct Input
{
	StringInfoData message;		/* the message that came last */
	char	   *carry;			/* the rest of earlier messages, and the last one behind it */
	size_t		carry_size;
	const char *data;			/* what the decoder reads: the message itself, or the carry */
	size_t		len;
	uint64		bytes;			/* all that came */
} Input;

typedef struct Load
{
	Relation	rel;
	List	   *attnums;		/* of the fields, in the order of the wire */
	Way			way;			/* never WAY_AUTO */
	bool		freeze;
	AttrNumber	key;			/* whose smallest and largest value are kept, or 0 */

	/*
	 * The columns as the decoder has them: for tuples that it makes, all columns of the table, in the table's
	 * order; for rows as Datums (rows.c), the columns of the stream, in the stream's order.
	 */
	bool		of_wire;
	DecoderColumn *columns;
	int			count;
	AttrNumber *attnos;			/* of each, as the table counts them */
	FmgrInfo   *receive;
	Oid		   *ioparams;
	StringInfoData field;		/* of the receive function that is called */

	Decoder		decoder;
	Input		input;
	uint64		rows;			/* stored */

	uint64		error_line;		/* for the context of errors */
	const char *error_column;	/* or NULL */
} Load;

/* client.c */
extern void client_begin(Input *input, int fields);
extern bool client_read(Input *input, Decoder *decoder);

/* columns.c */
extern void columns_plan(Load *load);
extern Form_pg_attribute columns_attribute(Load *load, size_t column);
extern Datum columns_receive(Load *load, bool *isnull);
extern Placement columns_placement(Form_pg_attribute att, Datum *value, char *room,
								   const char **bytes, size_t *len);

/* errors.c */
extern void errors_context(void *arg);
extern void errors_place(Load *load, const char *column);
extern void errors_place_input(Load *load);
extern void errors_of_stream(Load *load, int status) __attribute__((noreturn));

/* refusal.c */
extern char *refusal_reason(Relation rel, List *attnums, Way way);
extern Way	refusal_choose(Relation rel, List *attnums, Way asked, char **reason);
extern Way	way_of_name(const char *name);
extern const char *way_name(Way way);

/* rows.c */
typedef struct RowReader RowReader;
extern RowReader *rows_begin(Load *load);
extern bool rows_next(RowReader *reader, Datum *values, bool *nulls);
extern char *rows_grow_arena(char *arena, size_t *size);

/* load.c */
extern uint64 load_run(CopyStmt *stmt, const char *query);
extern int	insert_options(Load *load);

/* pages.c */
typedef struct PageWriter PageWriter;
extern char *pages_refusal(Relation rel);
extern PageWriter *pages_begin(Load *load, CommandId command, int options);
extern void pages_add(PageWriter *writer, HeapTuple tuple);
extern void pages_finish(PageWriter *writer);

/* tuples.c, executor.c */
extern void load_tuples(Load *load, ParseState *pstate);
extern void load_executor(Load *load, ParseState *pstate, CopyStmt *stmt);
extern void executor_place(Load *load);

/* What last_load() returns; load.c sets it. */
typedef struct LastLoad
{
	bool		is_set;
	Oid			relid;
	int64		rows;
	int64		bytes;
	Way			way;
	char		key[NAMEDATALEN];	/* empty: none was asked for */
	char	   *smallest;		/* in TopMemoryContext, or NULL */
	char	   *largest;
} LastLoad;

extern LastLoad last_load;

#endif
