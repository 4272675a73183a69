/* An ADBC driver that calls another one, and writes what is asked of it to a file: each statement, the
 * beginning and end of each transaction, and the table of each ingest. A record is the session, a tab,
 * the text, and a NUL. A session is named by an address, which a later one can have, too: a record
 * without text ends it. The environment names the driver, its entry point and the file. */

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adbc.h"

enum { STATEMENTS_MAX = 256 };

static struct AdbcDriver inner;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* The session of each open statement. Their structs are moved, so the driver's own pointers name them. */
static struct {
  void* statement;
  void* session;
} statements[STATEMENTS_MAX];

static void write_record(void* session, const char* before, const char* text) {
  pthread_mutex_lock(&mutex);
  FILE* log = fopen(getenv("LOGGING_DRIVER_FILE"), "a");
  if (log == NULL) abort();
  fprintf(log, "%p\t%s%s", session, before, text);
  fputc('\0', log);
  if (fclose(log) != 0) abort();
  pthread_mutex_unlock(&mutex);
}

/* The slot of a statement; of NULL: a free one. */
static int slot_of(void* statement) {
  for (int slot = 0; slot < STATEMENTS_MAX; slot++)
    if (statements[slot].statement == statement) return slot;
  abort();
}

static void* session_of(struct AdbcStatement* statement) {
  pthread_mutex_lock(&mutex);
  void* session = statements[slot_of(statement->private_data)].session;
  pthread_mutex_unlock(&mutex);
  return session;
}

static AdbcStatusCode StatementNew(struct AdbcConnection* connection, struct AdbcStatement* statement,
                                   struct AdbcError* error) {
  AdbcStatusCode status = inner.StatementNew(connection, statement, error);
  if (status != ADBC_STATUS_OK) return status;
  pthread_mutex_lock(&mutex);
  int slot = slot_of(NULL);
  statements[slot].statement = statement->private_data;
  statements[slot].session = connection->private_data;
  pthread_mutex_unlock(&mutex);
  return status;
}

static AdbcStatusCode StatementRelease(struct AdbcStatement* statement, struct AdbcError* error) {
  pthread_mutex_lock(&mutex);
  statements[slot_of(statement->private_data)].statement = NULL;
  pthread_mutex_unlock(&mutex);
  return inner.StatementRelease(statement, error);
}

static AdbcStatusCode StatementSetSqlQuery(struct AdbcStatement* statement, const char* query,
                                           struct AdbcError* error) {
  write_record(session_of(statement), "", query);
  return inner.StatementSetSqlQuery(statement, query, error);
}

static AdbcStatusCode StatementSetOption(struct AdbcStatement* statement, const char* key,
                                         const char* value, struct AdbcError* error) {
  if (strcmp(key, ADBC_INGEST_OPTION_TARGET_TABLE) == 0)
    write_record(session_of(statement), "-- send the rows to ", value);
  return inner.StatementSetOption(statement, key, value, error);
}

static AdbcStatusCode ConnectionSetOption(struct AdbcConnection* connection, const char* key,
                                          const char* value, struct AdbcError* error) {
  int begins = strcmp(key, ADBC_CONNECTION_OPTION_AUTOCOMMIT) == 0 &&
               strcmp(value, ADBC_OPTION_VALUE_DISABLED) == 0;
  if (begins) write_record(connection->private_data, "", "BEGIN");
  return inner.ConnectionSetOption(connection, key, value, error);
}

static AdbcStatusCode ConnectionCommit(struct AdbcConnection* connection, struct AdbcError* error) {
  write_record(connection->private_data, "", "COMMIT");
  return inner.ConnectionCommit(connection, error);
}

static AdbcStatusCode ConnectionRollback(struct AdbcConnection* connection, struct AdbcError* error) {
  write_record(connection->private_data, "", "ROLLBACK");
  return inner.ConnectionRollback(connection, error);
}

static AdbcStatusCode ConnectionRelease(struct AdbcConnection* connection, struct AdbcError* error) {
  write_record(connection->private_data, "", "");
  return inner.ConnectionRelease(connection, error);
}

AdbcStatusCode AdbcDriverInit(int version, void* raw, struct AdbcError* error) {
  void* library = dlopen(getenv("LOGGING_DRIVER_CALLS"), RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    abort();
  }
  AdbcDriverInitFunc init = (AdbcDriverInitFunc)(intptr_t)dlsym(library, getenv("LOGGING_DRIVER_ENTRY"));
  AdbcStatusCode status = init(version, raw, error);
  if (status != ADBC_STATUS_OK) return status;
  struct AdbcDriver* driver = raw;
  memcpy(&inner, driver, version >= ADBC_VERSION_1_1_0 ? ADBC_DRIVER_1_1_0_SIZE : ADBC_DRIVER_1_0_0_SIZE);
  driver->StatementNew = StatementNew;
  driver->StatementRelease = StatementRelease;
  driver->StatementSetSqlQuery = StatementSetSqlQuery;
  driver->StatementSetOption = StatementSetOption;
  driver->ConnectionSetOption = ConnectionSetOption;
  driver->ConnectionCommit = ConnectionCommit;
  driver->ConnectionRollback = ConnectionRollback;
  driver->ConnectionRelease = ConnectionRelease;
  return status;
}

/* A file of DuckDB is opened by this entry point. */
AdbcStatusCode duckdb_adbc_init(int version, void* raw, struct AdbcError* error) {
  return AdbcDriverInit(version, raw, error);
}
