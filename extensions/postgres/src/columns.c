/*
 * The description of the columns for the decoder, and the receive functions of their types.
 */
#include "fastcopy.h"

#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/expandeddatum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* The kernel of a type; sets the limits of its modifier in the column. */
static Kernel
kernel_of(Form_pg_attribute att, DecoderColumn *column)
{
	int32		typmod = att->atttypmod;

	switch (att->atttypid)
	{
		case BOOLOID:
			return KERNEL_BOOL;
		case CHAROID:
			return KERNEL_BYTE;
		case INT2OID:
			return KERNEL_INT2;
		case INT4OID:
		case OIDOID:
		case FLOAT4OID:
			return KERNEL_INT4;
		case INT8OID:
		case FLOAT8OID:
		case MONEYOID:
			return KERNEL_INT8;
		case DATEOID:
			return KERNEL_DATE;
			/* A precision rounds values, which is left to the type. */
		case TIMEOID:
			return typmod < 0 ? KERNEL_TIME : KERNEL_RECEIVE;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return typmod < 0 ? KERNEL_TIMESTAMP : KERNEL_RECEIVE;
		case UUIDOID:
			return KERNEL_UUID;
		case BYTEAOID:
			return KERNEL_BYTEA;
		case TEXTOID:
			return KERNEL_TEXT;
		case VARCHAROID:
			if (typmod >= (int32) VARHDRSZ)
				column->characters = typmod - VARHDRSZ;
			return KERNEL_TEXT;
		case BPCHAROID:
			if (typmod >= (int32) VARHDRSZ)
				column->characters = typmod - VARHDRSZ;
			return KERNEL_BPCHAR;
		case NUMERICOID:
			if (typmod >= (int32) VARHDRSZ)
			{
				/* Up to PostgreSQL 14 a scale is never below 0, and fits both ways to read it. */
				int32		scale = (((typmod - VARHDRSZ) & 0x7ff) ^ 1024) - 1024;

				if (scale < 0)
					return KERNEL_RECEIVE;
				column->precision = ((typmod - VARHDRSZ) >> 16) & 0xffff;
				column->scale = scale;
			}
			return KERNEL_NUMERIC;
		default:
			return KERNEL_RECEIVE;
	}
}

/* Facts that do not depend on whether the stream has the column. */
static void
describe(DecoderColumn *column, Form_pg_attribute att)
{
	column->characters = column->precision = column->scale = -1;
	column->not_null = att->attnotnull && !att->attisdropped;
	column->packable = att->attlen == -1 && att->attstorage != TYPSTORAGE_PLAIN;
	switch (att->attalign)
	{
		case TYPALIGN_CHAR:
			column->align = 1;
			break;
		case TYPALIGN_SHORT:
			column->align = ALIGNOF_SHORT;
			break;
		case TYPALIGN_INT:
			column->align = ALIGNOF_INT;
			break;
		default:
			column->align = ALIGNOF_DOUBLE;
	}
}

/* True if the columns are in the table's order, so that the decoder can make a tuple while it reads. */
static bool
in_order(List *attnums)
{
	ListCell   *cell;
	int			before = 0;

	foreach(cell, attnums)
	{
		if (lfirst_int(cell) < before)
			return false;
		before = lfirst_int(cell);
	}
	return true;
}

/* Fills in the load's data about columns. The table, the way, and the columns of the statement are set. */
void
columns_plan(Load *load)
{
	TupleDesc	desc = RelationGetDescr(load->rel);
	bool		of_wire = load->way == WAY_EXECUTOR || !in_order(load->attnums);
	int			place = 0;
	ListCell   *cell;

	load->of_wire = of_wire;
	load->count = of_wire ? list_length(load->attnums) : desc->natts;
	load->columns = palloc0(sizeof(DecoderColumn) * Max(load->count, 1));
	load->attnos = palloc0(sizeof(AttrNumber) * Max(load->count, 1));
	load->receive = palloc0(sizeof(FmgrInfo) * Max(load->count, 1));
	load->ioparams = palloc0(sizeof(Oid) * Max(load->count, 1));
	for (int i = 0; !of_wire && i < desc->natts; i++)
	{
		load->attnos[i] = i + 1;
		describe(&load->columns[i], TupleDescAttr(desc, i));
	}
	foreach(cell, load->attnums)
	{
		AttrNumber	attno = lfirst_int(cell);
		int			i = of_wire ? place++ : attno - 1;
		Form_pg_attribute att = TupleDescAttr(desc, attno - 1);
		DecoderColumn *column = &load->columns[i];
		Oid			function;

		load->attnos[i] = attno;
		describe(column, att);
		/* Fails if the type has none, like COPY. */
		getTypeBinaryInputInfo(att->atttypid, &function, &load->ioparams[i]);
		fmgr_info(function, &load->receive[i]);
		column->given = 1;
		column->null_is_received = !load->receive[i].fn_strict;
		column->kernel = kernel_of(att, column);
		column->key = load->key == attno;
		/* The reader of the row checks NULL itself; the executor does so after its triggers. */
		if (of_wire)
			column->not_null = 0;
	}
	load->decoder.fields = list_length(load->attnums);
	load->decoder.utf8 = GetDatabaseEncoding() == PG_UTF8 && pg_get_client_encoding() == PG_UTF8;
	initStringInfo(&load->field);
}

/* The catalog's entry for a column of the decoder. */
Form_pg_attribute
columns_attribute(Load *load, size_t column)
{
	return TupleDescAttr(RelationGetDescr(load->rel), load->attnos[column] - 1);
}

/*
 * The value of the field that the decoder cannot decode, made by the receive function of its type, like
 * CopyReadBinaryAttribute. It is allocated in the current memory context.
 */
Datum
columns_receive(Load *load, bool *isnull)
{
	Decoder    *decoder = &load->decoder;
	int			i = (int) decoder->column;
	Form_pg_attribute att = columns_attribute(load, decoder->column);
	Datum		value;

	errors_place(load, NameStr(att->attname));
	if (decoder->field_len < 0)
	{
		*isnull = true;
		value = ReceiveFunctionCall(&load->receive[i], NULL, load->ioparams[i], att->atttypmod);
	}
	else
	{
		/* A copy, because receive functions of old versions write into it, and expect a byte 0 after it. */
		*isnull = false;
		resetStringInfo(&load->field);
		appendBinaryStringInfo(&load->field, load->input.data + decoder->field,
							   (int) decoder->field_len);
		value = ReceiveFunctionCall(&load->receive[i], &load->field, load->ioparams[i],
									att->atttypmod);
		if (load->field.cursor != load->field.len)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
					 errmsg("incorrect binary data format")));
	}
	errors_place(load, NULL);
	return value;
}

/*
 * How a value is stored in a tuple, and its bytes: the cases of fill_val in heaptuple.c. `room` has 8 bytes, for a
 * value that is passed in the Datum itself.
 */
Placement
columns_placement(Form_pg_attribute att, Datum *value, char *room, const char **bytes, size_t *len)
{
	char	   *pointer;

	if (att->attbyval)
	{
		store_att_byval(room, *value, att->attlen);
		*bytes = room;
		*len = att->attlen;
		return PLACE_FIXED;
	}
	pointer = DatumGetPointer(*value);
	*bytes = pointer;
	if (att->attlen > 0)
	{
		*len = att->attlen;
		return PLACE_FIXED;
	}
	if (att->attlen == -2)
	{
		*len = strlen(pointer) + 1;
		return PLACE_UNALIGNED;
	}
	if (VARATT_IS_EXTERNAL_EXPANDED(pointer))
	{
		ExpandedObjectHeader *object = DatumGetEOHP(*value);
		char	   *flat;

		*len = EOH_get_flat_size(object);
		flat = palloc(*len);
		EOH_flatten_into(object, flat, *len);
		*bytes = flat;
		return PLACE_ALIGNED;
	}
	if (VARATT_IS_EXTERNAL(pointer))
	{
		*len = VARSIZE_EXTERNAL(pointer);
		return PLACE_EXTERNAL;
	}
	if (VARATT_IS_SHORT(pointer))
	{
		*len = VARSIZE_SHORT(pointer);
		return PLACE_UNALIGNED;
	}
	if (att->attstorage != TYPSTORAGE_PLAIN && VARATT_CAN_MAKE_SHORT(pointer))
	{
		*bytes = VARDATA(pointer);
		*len = VARSIZE(pointer) - VARHDRSZ;
		return PLACE_MAKE_SHORT;
	}
	*len = VARSIZE(pointer);
	return PLACE_ALIGNED;
}
