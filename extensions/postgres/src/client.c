/*
 * Reads the client's messages, like the server's CopyGetData for COPY FROM STDIN, with the same errors.
 *
 * Rows that are complete in a message are decoded in place; only the rest of a message is kept and copied.
 */
#include "fastcopy.h"

#include "libpq/libpq.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Tells the client to send rows: CopyInResponse, all in binary. */
void
client_begin(Input *input, int fields)
{
	StringInfoData buf;

	pq_beginmessage(&buf, 'G');
	pq_sendbyte(&buf, 1);
	pq_sendint16(&buf, fields);
	for (int i = 0; i < fields; i++)
		pq_sendint16(&buf, 1);
	pq_endmessage(&buf);
	/* The client waits for this message. */
	pq_flush();

	/* Both are enlarged in the memory context in which they were made, whichever context is current then. */
	initStringInfo(&input->message);
	input->carry_size = 64 * 1024;
	input->carry = palloc(input->carry_size);
	input->data = NULL;
	input->len = 0;
}

/* The next message with data; false if the client has sent all. */
static bool
next_message(StringInfo message)
{
	for (;;)
	{
		int			type;
		int			limit = 0;

		HOLD_CANCEL_INTERRUPTS();
		pq_startmsgread();
		type = pq_getbyte();
		switch (type)
		{
			case EOF:
				ereport(ERROR,
						(errcode(ERRCODE_CONNECTION_FAILURE),
						 errmsg("unexpected EOF on client connection with an open transaction")));
				break;
			case 'd':			/* CopyData */
				limit = PQ_LARGE_MESSAGE_LIMIT;
				break;
			case 'c':			/* CopyDone */
			case 'f':			/* CopyFail */
			case 'H':			/* Flush */
			case 'S':			/* Sync */
				limit = PQ_SMALL_MESSAGE_LIMIT;
				break;
			default:
				ereport(ERROR,
						(errcode(ERRCODE_PROTOCOL_VIOLATION),
						 errmsg("unexpected message type 0x%02X during COPY from stdin", type)));
		}
		if (pq_getmessage(message, limit))
			ereport(ERROR,
					(errcode(ERRCODE_CONNECTION_FAILURE),
					 errmsg("unexpected EOF on client connection with an open transaction")));
		RESUME_CANCEL_INTERRUPTS();
		CHECK_FOR_INTERRUPTS();

		switch (type)
		{
			case 'd':
				return true;
			case 'c':
				return false;
			case 'f':
				ereport(ERROR,
						(errcode(ERRCODE_QUERY_CANCELED),
						 errmsg("COPY from stdin failed: %s", pq_getmsgstring(message))));
				break;
			default:
				/* libpq may send Flush and Sync before it sees that the statement is a COPY. */
				break;
		}
	}
}

/* Enlarges the carry to this many bytes, and keeps its content. */
static void
reserve_carry(Input *input, size_t size)
{
	size_t		larger = input->carry_size;

	if (size <= input->carry_size)
		return;
	while (larger < size)
		larger *= 2;
	/* A row has at most 1 GB, as for COPY: a larger request fails here. */
	if (larger > MaxAllocSize && size <= MaxAllocSize)
		larger = MaxAllocSize;
	input->carry = repalloc(input->carry, larger);
	input->carry_size = larger;
}

/*
 * Drops the bytes that the decoder has used, and appends more to the rest. If no more bytes will come, returns false
 * and informs the decoder.
 */
bool
client_read(Input *input, Decoder *decoder)
{
	size_t		rest = input->len - decoder->used;

	Assert(decoder->used <= input->len);
	if (rest > 0)
	{
		if (input->data == input->carry)
		{
			/* A long row, which comes in many messages, stays where it is. */
			if (decoder->used > 0)
				memmove(input->carry, input->carry + decoder->used, rest);
		}
		else
		{
			reserve_carry(input, rest);
			memcpy(input->carry, input->data + decoder->used, rest);
		}
	}
	decoder->used = 0;

	if (!next_message(&input->message))
	{
		input->data = input->carry;
		input->len = rest;
		decoder->input_ends = 1;
		return false;
	}
	input->bytes += input->message.len;
	if (rest == 0)
	{
		input->data = input->message.data;
		input->len = input->message.len;
		return true;
	}
	reserve_carry(input, rest + input->message.len);
	memcpy(input->carry + rest, input->message.data, input->message.len);
	input->data = input->carry;
	input->len = rest + input->message.len;
	return true;
}
