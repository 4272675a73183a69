/*
 * COPY's errors and their context, word for word, so that programs find the row and the column of an error as with
 * COPY.
 */
#include "fastcopy.h"

/* "COPY t, line n, column c", as CopyFromErrorCallback writes it for binary data. */
void
errors_context(void *arg)
{
	Load	   *load = (Load *) arg;

	/* COPY shows no line before the first one; and in CopyFrom the server's own context is set. */
	if (load->decoder.phase < DECODER_PHASE_ROWS || load->way == WAY_EXECUTOR)
		return;
	if (load->error_column != NULL)
		errcontext("COPY %s, line %llu, column %s", RelationGetRelationName(load->rel),
				   (unsigned long long) load->error_line, load->error_column);
	else
		errcontext("COPY %s, line %llu", RelationGetRelationName(load->rel),
				   (unsigned long long) load->error_line);
}

/* Sets the position of the decoder: the line, and this column or NULL. */
void
errors_place(Load *load, const char *column)
{
	load->error_line = load->decoder.line;
	load->error_column = column;
#if HAS_WAY_EXECUTOR
	if (load->way == WAY_EXECUTOR)
		executor_place(load);
#endif
}

/* Sets the position at which the decoder waits for more bytes: within a row, before the next one, or after the last. */
void
errors_place_input(Load *load)
{
	Decoder    *decoder = &load->decoder;
	bool		in_row = decoder->in_row != 0;

	errors_place(load, in_row && decoder->column < (size_t) load->count ?
				 NameStr(columns_attribute(load, decoder->column)->attname) : NULL);
	/* COPY counts a line before it reads it. */
	if (!in_row && decoder->phase != DECODER_PHASE_TRAILER)
		load->error_line++;
#if HAS_WAY_EXECUTOR
	if (load->way == WAY_EXECUTOR)
		executor_place(load);
#endif
}

/* Reports an error that the decoder found in the stream. */
void
errors_of_stream(Load *load, int status)
{
	Decoder    *decoder = &load->decoder;

	errors_place(load, decoder->in_row && decoder->column < (size_t) load->count ?
				 NameStr(columns_attribute(load, decoder->column)->attname) : NULL);

	/* The server reads its header before it sets its context. */
	if (load->way == WAY_EXECUTOR && decoder->phase < DECODER_PHASE_ROWS)
		error_context_stack = error_context_stack->previous;

	switch (status)
	{
		case DECODER_FIELD_COUNT:
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("row field count is %d, expected %d",
							(int) decoder->field_len, (int) decoder->fields)));
			break;
		case DECODER_FIELD_SIZE:
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("invalid field size")));
			break;
		case DECODER_FIELD_TOO_LONG:
			/* Fails with the message of this server's version. */
			resetStringInfo(&load->field);
			enlargeStringInfo(&load->field, (int) decoder->field_len);
			break;
		case DECODER_END_IN_ROW:
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("unexpected EOF in COPY data")));
			break;
		case DECODER_DATA_AFTER_END:
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("received copy data after EOF marker")));
			break;
		case DECODER_SIGNATURE:
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("COPY file signature not recognized")));
			break;
		case DECODER_MISSING_FLAGS:
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("invalid COPY file header (missing flags)")));
			break;
		case DECODER_WITH_OIDS:
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("invalid COPY file header (WITH OIDS)")));
			break;
		case DECODER_CRITICAL_FLAGS:
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("unrecognized critical flags in COPY file header")));
			break;
		case DECODER_MISSING_LENGTH:
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("invalid COPY file header (missing length)")));
			break;
		case DECODER_WRONG_LENGTH:
			ereport(ERROR,
					(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
					 errmsg("invalid COPY file header (wrong length)")));
			break;
		default:
			break;
	}
	elog(ERROR, "the decoder of inrush_fastcopy returned %d, which it must not", status);
	pg_unreachable();
}
