/*
 * The interface of the decoder, a Rust library (../decoder): its structures and functions, as in decoder/src/border.rs.
 * The library calls no function of the server, so no error of the server jumps across Rust code.
 */
#ifndef INRUSH_DECODER_H
#define INRUSH_DECODER_H

#include "c.h"

/* decoder/src/column.rs: `Kernel` */
typedef enum Kernel
{
	KERNEL_RECEIVE = 0,
	KERNEL_BOOL = 1,
	KERNEL_BYTE = 2,
	KERNEL_INT2 = 3,
	KERNEL_INT4 = 4,
	KERNEL_INT8 = 5,
	KERNEL_DATE = 6,
	KERNEL_TIME = 7,
	KERNEL_TIMESTAMP = 8,
	KERNEL_UUID = 9,
	KERNEL_BYTEA = 10,
	KERNEL_TEXT = 11,
	KERNEL_BPCHAR = 12,
	KERNEL_NUMERIC = 13
} Kernel;

/* decoder/src/column.rs: `Column` */
typedef struct DecoderColumn
{
	uint8		kernel;
	uint8		align;			/* bytes */
	uint8		packable;
	uint8		given;			/* has a field in each row; else stored as NULL */
	uint8		not_null;
	uint8		null_is_received;
	uint8		key;			/* keep its smallest and largest value */
	uint8		unused;
	int32		characters;		/* of varchar(n), char(n); -1: any number */
	int32		precision;		/* of numeric(p, s); -1: any */
	int32		scale;
} DecoderColumn;

/* decoder/src/tuple.rs: `Tuple` */
typedef struct DecoderTuple
{
	size_t		offset;			/* bytes from the begin of the arena */
	size_t		len;
} DecoderTuple;

/* decoder/src/tuple.rs: `Placement` */
typedef enum Placement
{
	PLACE_FIXED = 0,
	PLACE_ALIGNED = 1,
	PLACE_UNALIGNED = 2,
	PLACE_EXTERNAL = 3,
	PLACE_MAKE_SHORT = 4
} Placement;

/* decoder/src/decoder.rs: `Status` */
typedef enum DecoderStatus
{
	DECODER_NEED_INPUT = 0,
	DECODER_BATCH_FULL = 1,
	DECODER_NEED_ROOM = 2,
	DECODER_NEED_VALUE = 3,
	DECODER_NULL_REFUSED = 4,
	DECODER_ROW = 5,
	DECODER_END = 6,
	/* errors of the stream */
	DECODER_FIELD_COUNT = 16,
	DECODER_FIELD_SIZE = 17,
	DECODER_FIELD_TOO_LONG = 18,
	DECODER_END_IN_ROW = 19,
	DECODER_DATA_AFTER_END = 20,
	DECODER_SIGNATURE = 21,
	DECODER_MISSING_FLAGS = 22,
	DECODER_WITH_OIDS = 23,
	DECODER_CRITICAL_FLAGS = 24,
	DECODER_MISSING_LENGTH = 25,
	DECODER_WRONG_LENGTH = 26
} DecoderStatus;

/* decoder/src/decoder.rs: the `phase` of a stream whose header was read, and of one whose trailer was */
#define DECODER_PHASE_ROWS 2
#define DECODER_PHASE_TRAILER 3

/* decoder/src/decoder.rs: `Decoder`; all zeros but `fields` and `utf8` is the state before the first byte */
typedef struct Decoder
{
	int32		fields;			/* of a row on the wire */
	uint8		utf8;
	uint8		input_ends;		/* no byte will follow those of this call */
	uint8		phase;
	uint8		in_row;
	uint8		null_refused;
	uint8		has_key;		/* key_min and key_max are set */
	uint8		unused[6];
	size_t		used;			/* bytes of the input */
	size_t		arena_used;
	size_t		tuples;			/* in this batch */
	uint64		line;			/* number of the row, from 1 */
	size_t		column;			/* of the table, from 0 */
	size_t		field;			/* where the field of DECODER_NEED_VALUE begins in the input */
	int64		field_len;
	int64		key_min;
	int64		key_max;
	size_t		row_used;
	size_t		extension;
	uint64		tuple[29];
} Decoder;

extern void inrush_fastcopy_sizes(size_t *sizes);
extern int	inrush_fastcopy_decode(Decoder *decoder,
								   const DecoderColumn *columns, size_t columns_len,
								   const char *input, size_t input_len,
								   char *arena, size_t arena_len,
								   DecoderTuple *tuples, size_t tuples_len);
extern int	inrush_fastcopy_row(Decoder *decoder,
								const DecoderColumn *columns, size_t columns_len,
								const char *input, size_t input_len,
								char *arena, size_t arena_len,
								uint64 *values, uint8 *kinds);
extern bool inrush_fastcopy_give(Decoder *decoder,
								 const DecoderColumn *columns, size_t columns_len,
								 char *arena, size_t arena_len,
								 const char *bytes, size_t bytes_len, uint8 placement);
extern void inrush_fastcopy_give_null(Decoder *decoder,
									  const DecoderColumn *columns, size_t columns_len);
extern void inrush_fastcopy_restart_row(Decoder *decoder);
extern void inrush_fastcopy_field_done(Decoder *decoder);

#endif
