/*
 * Decides which way a table is loaded, and why a way is not possible. A refusal is a text for people.
 */
#include "fastcopy.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "catalog/catalog.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "commands/trigger.h"
#include "mb/pg_wchar.h"
#include "rewrite/rewriteHandler.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/rls.h"
#include "utils/syscache.h"

static const char *const way_names[] = {"auto", "tuples", "executor", "pages"};

/* "tuples" and so on. */
const char *
way_name(Way way)
{
	return way_names[way];
}

/* Fails if this version has no way of this name. */
Way
way_of_name(const char *name)
{
	for (int way = WAY_AUTO; way <= WAY_PAGES; way++)
	{
		if (strcmp(name, way_names[way]) != 0)
			continue;
		if ((way == WAY_EXECUTOR && !HAS_WAY_EXECUTOR) || (way == WAY_PAGES && !HAS_WAY_PAGES))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("inrush_fastcopy cannot go the way \"%s\" on this version of PostgreSQL", name)));
		return (Way) way;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("inrush_fastcopy knows no way \"%s\"", name),
			 errhint("The ways are auto, tuples, executor and pages.")));
	return WAY_AUTO;
}

/* Tables that no way can load. */
static char *
refused_by_all(Relation rel, List *attnums)
{
	TupleDesc	desc = RelationGetDescr(rel);
	ListCell   *cell;

	if (rel->rd_rel->relkind != RELKIND_RELATION && rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return psprintf("\"%s\" is not a table", RelationGetRelationName(rel));
	if (IsSystemRelation(rel))
		return psprintf("\"%s\" is a table of the system", RelationGetRelationName(rel));
	if (RELATION_IS_OTHER_TEMP(rel))
		return psprintf("\"%s\" is a temporary table of another session", RelationGetRelationName(rel));
	if (check_enable_rls(RelationGetRelid(rel), InvalidOid, true) == RLS_ENABLED)
		return psprintf("row security applies to table \"%s\"", RelationGetRelationName(rel));
	if (pg_get_client_encoding() != GetDatabaseEncoding())
		return psprintf("the encoding of the client, %s, is not that of the database, %s",
						pg_get_client_encoding_name(), GetDatabaseEncodingName());
	foreach(cell, attnums)
	{
		Form_pg_attribute att = TupleDescAttr(desc, lfirst_int(cell) - 1);
		HeapTuple	type = SearchSysCache1(TYPEOID, ObjectIdGetDatum(att->atttypid));
		bool		receives = HeapTupleIsValid(type) &&
			OidIsValid(((Form_pg_type) GETSTRUCT(type))->typreceive);

		if (HeapTupleIsValid(type))
			ReleaseSysCache(type);
		if (!receives)
			return psprintf("the type of column \"%s\" has no receive function", NameStr(att->attname));
	}
	return NULL;
}

/* Tables that the ways "tuples" and "pages" leave to the executor. */
static char *
refused_by_tuples(Relation rel, List *attnums)
{
	TupleDesc	desc = RelationGetDescr(rel);
	const char *name = RelationGetRelationName(rel);
	List	   *indexes;

	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		return psprintf("\"%s\" is a partitioned table", name);
	if (rel->rd_rel->relispartition)
		return psprintf("\"%s\" is a partition", name);
	if (rel->rd_tableam != GetHeapamTableAmRoutine())
		return psprintf("table \"%s\" is stored by another access method than heap", name);
	if (rel->trigdesc != NULL && rel->trigdesc->numtriggers > 0)
		return psprintf("table \"%s\" has a trigger or foreign key, \"%s\"", name,
						rel->trigdesc->triggers[0].tgname);
	indexes = RelationGetIndexList(rel);
	if (indexes != NIL)
		return psprintf("table \"%s\" has an index, \"%s\"", name,
						get_rel_name(linitial_oid(indexes)));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			continue;
		if (att->attgenerated)
			return psprintf("column \"%s\" is generated", NameStr(att->attname));
		if (!list_member_int(attnums, i + 1) && build_column_default(rel, i + 1) != NULL)
			return psprintf("column \"%s\" has a default, and is left out", NameStr(att->attname));
	}
	return NULL;
}

#if HAS_WAY_EXECUTOR
/* Tables that the way "executor" leaves to COPY, because other extensions load them by their own hook. */
static char *
refused_by_executor(Relation rel)
{
	static const char *const owners[] = {"citus", "timescaledb"};

	for (int i = 0; i < lengthof(owners); i++)
	{
		if (rel->trigdesc != NULL && OidIsValid(get_extension_oid(owners[i], true)))
			return psprintf("table \"%s\" may belong to the extension %s", RelationGetRelationName(rel),
							owners[i]);
	}
	return NULL;
}
#endif

/* Why a table cannot be loaded in this way, or NULL if it can. For WAY_AUTO: why no way is possible. */
char *
refusal_reason(Relation rel, List *attnums, Way way)
{
	char	   *reason;

	(void) refusal_choose(rel, attnums, way, &reason);
	return reason;
}

/* The way in which a table is loaded; a reason is set if the requested way is not possible. */
Way
refusal_choose(Relation rel, List *attnums, Way asked, char **reason)
{
	*reason = refused_by_all(rel, attnums);
	if (*reason != NULL)
		return asked;
	if (asked != WAY_EXECUTOR)
	{
		*reason = refused_by_tuples(rel, attnums);
#if HAS_WAY_PAGES
		if (*reason == NULL && asked == WAY_PAGES)
			*reason = pages_refusal(rel);
#endif
		if (*reason == NULL)
			return asked == WAY_AUTO ? WAY_TUPLES : asked;
	}
#if HAS_WAY_EXECUTOR
	if (asked == WAY_AUTO || asked == WAY_EXECUTOR)
	{
		*reason = refused_by_executor(rel);
		return WAY_EXECUTOR;
	}
#endif
	return asked;
}
