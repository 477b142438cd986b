/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history's tables, as memtap-history(5) describes them. A released step never changes: add
 * another step instead.
 */
#include "store.h"

/* Sizes are in bytes, times in ns since 1970. Unknown texts are "", unknown numbers NULL. */
static const char first[] =
    "CREATE TABLE run ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " started INTEGER NOT NULL, added INTEGER NOT NULL, length INTEGER NOT NULL,"
    " program TEXT NOT NULL, command TEXT NOT NULL, host TEXT NOT NULL,"
    " commit_id TEXT NOT NULL, branch TEXT NOT NULL,"
    " device TEXT NOT NULL, allocator TEXT NOT NULL, torch TEXT NOT NULL, cuda TEXT NOT NULL, "
    "python TEXT NOT NULL,"
    " memtap TEXT NOT NULL, world_size INTEGER,"
    " events INTEGER NOT NULL, lost INTEGER NOT NULL, complete INTEGER NOT NULL);"
    "CREATE INDEX run_started ON run (started);"

    "CREATE TABLE tag ("
    " run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, name TEXT NOT NULL,"
    " PRIMARY KEY (run, name)) WITHOUT ROWID;"

    "CREATE TABLE trace ("
    " id INTEGER PRIMARY KEY,"
    " run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,"
    " path TEXT NOT NULL, sha256 TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,"
    " kept INTEGER NOT NULL, rank INTEGER);"
    "CREATE INDEX trace_run ON trace (run);"

    "CREATE TABLE device ("
    " id INTEGER PRIMARY KEY,"
    " trace INTEGER NOT NULL REFERENCES trace ON DELETE CASCADE,"
    " number INTEGER, allocated INTEGER NOT NULL, reserved INTEGER NOT NULL,"
    " most_reserved INTEGER NOT NULL, phase TEXT NOT NULL, iteration INTEGER NOT NULL,"
    " iterations INTEGER NOT NULL, growth INTEGER NOT NULL, at_end INTEGER NOT NULL);"
    "CREATE INDEX device_trace ON device (trace);"

    "CREATE TABLE category ("
    " device INTEGER NOT NULL REFERENCES device ON DELETE CASCADE,"
    " name TEXT NOT NULL, size INTEGER NOT NULL, PRIMARY KEY (device, name)) WITHOUT ROWID;"

    "CREATE TABLE phase ("
    " device INTEGER NOT NULL REFERENCES device ON DELETE CASCADE,"
    " name TEXT NOT NULL, allocated INTEGER NOT NULL, PRIMARY KEY (device, name)) WITHOUT ROWID;"

    "CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"

    "CREATE TABLE site ("
    " device INTEGER NOT NULL REFERENCES device ON DELETE CASCADE,"
    " category TEXT NOT NULL, function INTEGER NOT NULL REFERENCES name,"
    " file INTEGER NOT NULL REFERENCES name, line INTEGER NOT NULL,"
    " operator INTEGER NOT NULL REFERENCES name, module INTEGER NOT NULL REFERENCES name,"
    " size INTEGER NOT NULL, blocks INTEGER NOT NULL);"
    "CREATE INDEX site_device ON site (device);"

    "CREATE VIEW named_site AS"
    " SELECT trace.run, site.device, site.category, f.text AS function, p.text AS file, site.line,"
    " o.text AS operator, m.text AS module, site.size, site.blocks FROM site"
    " JOIN device ON device.id = site.device JOIN trace ON trace.id = device.trace"
    " JOIN name f ON f.id = site.function JOIN name p ON p.id = site.file"
    " JOIN name o ON o.id = site.operator JOIN name m ON m.id = site.module;";

/* How a trace's run ended: "whole" or the name for --allow-ended, and in words. "" in traces that
 * were added before this step. */
static const char second[] = "ALTER TABLE trace ADD COLUMN ended TEXT NOT NULL DEFAULT '';"
                             "ALTER TABLE trace ADD COLUMN ended_text TEXT NOT NULL DEFAULT '';";

/* The process, to recognize a trace that is added again after it grew. NULL and 0 in traces added
 * before this step. */
static const char third[] = "ALTER TABLE trace ADD COLUMN pid INTEGER;"
                            "ALTER TABLE trace ADD COLUMN started INTEGER NOT NULL DEFAULT 0;"
                            "ALTER TABLE trace ADD COLUMN events INTEGER NOT NULL DEFAULT 0;"
                            "ALTER TABLE trace ADD COLUMN lost INTEGER NOT NULL DEFAULT 0;"
                            "ALTER TABLE trace ADD COLUMN complete INTEGER NOT NULL DEFAULT 1;";

/* A category's certainty: "certain", "likely" or "guess"; "" in traces added before this step. */
static const char fourth[] =
    "ALTER TABLE category ADD COLUMN certainty TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE site ADD COLUMN certainty TEXT NOT NULL DEFAULT '';"
    "DROP VIEW named_site;"
    "CREATE VIEW named_site AS"
    " SELECT trace.run, site.device, site.category, f.text AS function, p.text AS file, site.line,"
    " o.text AS operator, m.text AS module, site.size, site.blocks, site.certainty FROM site"
    " JOIN device ON device.id = site.device JOIN trace ON trace.id = device.trace"
    " JOIN name f ON f.id = site.function JOIN name p ON p.id = site.file"
    " JOIN name o ON o.id = site.operator JOIN name m ON m.id = site.module;";

const char *const mt_schema_steps[] = {first, second, third, fourth};
const int mt_schema_version = sizeof mt_schema_steps / sizeof *mt_schema_steps;
