-- SPDX-License-Identifier: Apache-2.0
-- The queries about many ranks. DuckDB and Spark both run these statements unchanged (fleet/questions.py).
-- "-- table: NAME" creates a temporary table from the statement below it, "-- question: NAME" is an answer, and "-- median: NAME: of VALUE
-- in TABLE by KEYS" creates a table of the keys, n (the ranks) and median, in which a row counts as often as its column ranks says. The input
-- is the tables runs, sites and growth (memtap-dataset(5)) and asked, one row of settings. Bytes are BIGINT: sums and medians are cast,
-- because each engine has its own type for them. The order of NULLs and of equal values is explicit for the same reason.

-- question: jobs
SELECT job, count(DISTINCT run) AS runs, count(DISTINCT trace) AS traces, CAST(max(peak) AS BIGINT) AS most,
  CAST(max(started_unix_ns) AS BIGINT) AS newest_unix_ns
FROM runs GROUP BY job ORDER BY traces DESC, newest_unix_ns DESC NULLS LAST, job

-- question: older
SELECT n.job, n.run, n.rank, n.trace
FROM (SELECT r.*, row_number() OVER (PARTITION BY job, run, rank, CASE WHEN rank < 0 THEN trace ELSE '' END, device
    ORDER BY started_unix_ns DESC NULLS LAST, trace DESC) AS nth FROM runs r) n
CROSS JOIN asked a
WHERE n.nth > 1 AND n.job = a.job ORDER BY n.trace

-- A rank's newest trace, by device; headroom: the device's free memory when PyTorch has reserved most.
-- table: members
SELECT n.*, CASE WHEN a.stages > 0 AND n.rank >= 0 AND n.world_size > 0
      THEN CAST(floor(n.rank * a.stages / n.world_size) AS BIGINT) ELSE -1 END AS stage,
  CASE WHEN a.tensor_parallel > 0 AND n.rank >= 0 THEN n.rank % a.tensor_parallel ELSE -1 END AS place,
  n.memory - n.most_reserved - coalesce(n.outside, 0) AS headroom,
  CASE WHEN n.stands_for > 0 THEN least(n.stands_for, 4294967296) ELSE 1 END AS ranks
FROM (SELECT r.*, row_number() OVER (PARTITION BY job, run, rank, CASE WHEN rank < 0 THEN trace ELSE '' END, device
    ORDER BY started_unix_ns DESC NULLS LAST, trace DESC) AS nth FROM runs r WHERE peak IS NOT NULL) n
CROSS JOIN asked a
WHERE n.nth = 1 AND n.job = a.job

-- table: newest
SELECT run, started FROM (SELECT run, started, row_number() OVER (ORDER BY started DESC NULLS LAST, run DESC) AS nth
  FROM (SELECT run, max(started_unix_ns) AS started FROM members GROUP BY run) r) n WHERE nth = 1

-- Ranks of equal role: parameters of the same modules, with as many bytes. Rare sizes are grouped with the most frequent one.
-- table: kinds
SELECT run, parameters_in, stage, place, parameters, n,
  row_number() OVER (PARTITION BY run, parameters_in, stage, place ORDER BY n DESC, parameters DESC) AS nth
FROM (SELECT run, parameters_in, stage, place, parameters, sum(ranks) AS n FROM members
  GROUP BY run, parameters_in, stage, place, parameters) k

-- ranks: one, or as many as the trace represents (at most 2^32: a file may claim any number).
-- table: placed
SELECT m.run, m.trace, m.device, m.rank, m.host, m.peak, m.most_reserved, m.memory, m.headroom, m.growth, m.iterations, m.ranks,
  CASE WHEN m.stage >= 0 THEN concat('stage ', CAST(m.stage AS STRING), ': ') ELSE '' END || m.parameters_in ||
  CASE WHEN m.place >= 0 THEN concat(', place ', CAST(m.place AS STRING)) ELSE '' END ||
  CASE WHEN k.nth > 1 AND k.n >= 3 THEN concat(', of ', CAST(m.parameters AS STRING), ' bytes') ELSE '' END AS role
FROM members m JOIN kinds k ON m.run = k.run AND m.parameters_in = k.parameters_in AND m.stage = k.stage
  AND m.place = k.place AND m.parameters = k.parameters

-- What is live at the peak. doubt: how uncertain its category is, 2 is a guess; "other" claims nothing.
-- table: held
SELECT p.run, p.role, p.trace, p.device, s.category, s.function, s.file, s.line, s.module, s.event, s.bytes,
  CASE WHEN s.category = 'other' THEN 0 WHEN s.certainty = 'guess' THEN 2 WHEN s.certainty = 'likely' THEN 1 ELSE 0 END AS doubt
FROM sites s JOIN placed p ON s.trace = p.trace AND s.device = p.device

-- Everything that is compared: (kind, category, function, file, line, module) identifies an item. As in memtap report, less
-- than a hundredth of a category does not affect its certainty; a line is as certain as its least certain block.
-- table: measured
SELECT run, role, trace, device, 'peak' AS kind, '' AS category, '' AS function, '' AS file, 0 AS line, '' AS module,
  peak AS bytes, 0 AS doubt FROM placed
UNION ALL SELECT run, role, trace, device, 'reserved', '', '', '', 0, '', most_reserved, 0 FROM placed WHERE most_reserved IS NOT NULL
UNION ALL SELECT run, role, trace, device, 'category', category, '', '', 0, '', CAST(sum(bytes) AS BIGINT),
  CASE WHEN sum(CASE WHEN doubt = 2 THEN bytes ELSE 0 END) > floor(sum(bytes) / 100) THEN 2
    WHEN sum(CASE WHEN doubt > 0 THEN bytes ELSE 0 END) > floor(sum(bytes) / 100) THEN 1 ELSE 0 END
  FROM held GROUP BY run, role, trace, device, category
UNION ALL SELECT run, role, trace, device, 'line', category, function, file, line, '', CAST(sum(bytes) AS BIGINT), max(doubt)
  FROM held GROUP BY run, role, trace, device, category, function, file, line
UNION ALL SELECT run, role, trace, device, 'module', category, '', '', 0, module, CAST(sum(bytes) AS BIGINT), max(doubt)
  FROM held WHERE module <> '' GROUP BY run, role, trace, device, category, module

-- The items whose category is not certain, with its lowest certainty in any rank.
-- table: doubted
SELECT run, role, kind, category, function, file, line, module, CASE max(doubt) WHEN 2 THEN 'guess' ELSE 'likely' END AS certainty
FROM measured WHERE doubt > 0 GROUP BY run, role, kind, category, function, file, line, module

-- An item of one rank of a role exists for all of its ranks, perhaps with 0 bytes.
-- table: compared
SELECT t.run, t.role, p.trace, p.device, p.ranks, t.kind, t.category, t.function, t.file, t.line, t.module, coalesce(m.bytes, 0) AS bytes
FROM (SELECT DISTINCT run, role, kind, category, function, file, line, module FROM measured) t
JOIN placed p ON t.run = p.run AND t.role = p.role
LEFT JOIN measured m ON m.run = t.run AND m.role = t.role AND m.trace = p.trace AND m.device = p.device AND m.kind = t.kind
  AND m.category = t.category AND m.function = t.function AND m.file = t.file AND m.line = t.line AND m.module = t.module

-- median: typical: of bytes in compared by run, role, kind, category, function, file, line, module

-- table: distances
SELECT c.run, c.role, c.kind, c.category, c.function, c.file, c.line, c.module, abs(c.bytes - t.median) AS away, sum(c.ranks) AS ranks
FROM compared c JOIN typical t ON c.run = t.run AND c.role = t.role AND c.kind = t.kind AND c.category = t.category
  AND c.function = t.function AND c.file = t.file AND c.line = t.line AND c.module = t.module
GROUP BY c.run, c.role, c.kind, c.category, c.function, c.file, c.line, c.module, abs(c.bytes - t.median)

-- The median of the distances from the median.
-- median: mads: of away in distances by run, role, kind, category, function, file, line, module

-- table: far
SELECT c.run, c.role, c.trace, c.device, c.ranks, c.kind, c.category, c.function, c.file, c.line, c.module, c.bytes, s.n, s.median,
  d.median AS mad, c.bytes - s.median AS above
FROM compared c JOIN typical s ON c.run = s.run AND c.role = s.role AND c.kind = s.kind AND c.category = s.category
  AND c.function = s.function AND c.file = s.file AND c.line = s.line AND c.module = s.module
JOIN mads d ON c.run = d.run AND c.role = d.role AND c.kind = d.kind AND c.category = d.category
  AND c.function = d.function AND c.file = d.file AND c.line = d.line AND c.module = d.module
JOIN typical t ON t.run = c.run AND t.role = c.role AND t.kind = 'peak'
CROSS JOIN asked a
WHERE s.n >= 3 AND abs(c.bytes - s.median) > greatest(a.mads * 1.4826 * d.median, a.least_share * t.median, CAST(a.least_bytes AS DOUBLE))

-- If more than a quarter of a role's ranks are far from the others, they are two groups and not outliers.
-- question: outliers
SELECT f.run, p.rank, p.host, f.trace, f.device, f.role, f.kind, f.category, f.function, f.file, f.line, f.module, f.bytes,
  f.median, f.mad, f.n AS ranks, f.above, coalesce(d.certainty, 'certain') AS certainty
FROM far f
JOIN (SELECT run, role, kind, category, function, file, line, module, sum(ranks) AS many FROM far
  GROUP BY run, role, kind, category, function, file, line, module) c
ON f.run = c.run AND f.role = c.role AND f.kind = c.kind AND f.category = c.category AND f.function = c.function
  AND f.file = c.file AND f.line = c.line AND f.module = c.module
JOIN placed p ON f.trace = p.trace AND f.device = p.device
LEFT JOIN doubted d ON f.run = d.run AND f.role = d.role AND f.kind = d.kind AND f.category = d.category AND f.function = d.function
  AND f.file = d.file AND f.line = d.line AND f.module = d.module
WHERE c.many = 1 OR c.many * 4 <= f.n
ORDER BY abs(f.above) DESC, f.run, f.trace, f.device, f.kind, f.category, f.function, f.file, f.line, f.module

-- median: role_peaks: of peak in placed by run, role

-- question: stages
SELECT p.run, p.role, CAST(sum(CASE WHEN h.device_nth = 1 THEN p.ranks END) AS BIGINT) AS ranks, max(t.median) AS median,
  CAST(min(p.peak) AS BIGINT) AS least, CAST(max(p.peak) AS BIGINT) AS most, CAST(min(p.headroom) AS BIGINT) AS headroom,
  CAST(min(p.rank) AS BIGINT) AS first_rank, CAST(max(CASE WHEN h.nth = 1 THEN p.rank END) AS BIGINT) AS most_rank
FROM placed p JOIN (SELECT trace, device, row_number() OVER (PARTITION BY run, role ORDER BY peak DESC, rank, trace, device) AS nth,
    row_number() OVER (PARTITION BY run, role, trace ORDER BY device) AS device_nth FROM placed) h
  ON p.trace = h.trace AND p.device = h.device
JOIN role_peaks t ON p.run = t.run AND p.role = t.role
GROUP BY p.run, p.role ORDER BY p.run, first_rank, p.role

-- question: imbalance
SELECT c.run, c.role, c.category, c.bytes AS most, p.rank AS most_rank, p.trace, c.median, c.bytes - c.median AS above, c.n AS ranks,
  coalesce(d.certainty, 'certain') AS certainty
FROM (SELECT c.run, c.role, c.category, c.bytes, c.trace, c.device, t.median, t.n,
    row_number() OVER (PARTITION BY c.run, c.role, c.category ORDER BY c.bytes DESC, c.trace, c.device) AS nth
  FROM compared c JOIN typical t ON c.run = t.run AND c.role = t.role AND t.kind = 'category' AND c.category = t.category
  WHERE c.kind = 'category') c
JOIN placed p ON c.trace = p.trace AND c.device = p.device
LEFT JOIN doubted d ON d.kind = 'category' AND c.run = d.run AND c.role = d.role AND c.category = d.category
WHERE c.nth = 1 AND c.bytes > c.median ORDER BY c.run, above DESC, c.role, c.category

-- When persistent memory was first allocated, as the number of the event in the trace: equal programs have equal numbers.
-- table: since
SELECT p.run, p.role, p.trace, p.device, p.rank, p.host, p.ranks, h.category, CAST(min(h.event) AS BIGINT) AS event,
  CAST(sum(h.bytes) AS BIGINT) AS bytes
FROM placed p JOIN held h ON p.trace = h.trace AND p.device = h.device
WHERE h.category IN ('parameters', 'optimizer_state')
GROUP BY p.run, p.role, p.trace, p.device, p.rank, p.host, p.ranks, h.category

-- median: since_typical: of event in since by run, role, category

-- table: since_distances
SELECT s.run, s.role, s.category, s.ranks, abs(s.event - t.median) AS away
FROM since s JOIN since_typical t ON s.run = t.run AND s.role = t.role AND s.category = t.category

-- median: since_mads: of away in since_distances by run, role, category

-- table: lengths
SELECT p.run, p.role, p.ranks, CAST(floor(m.events / greatest(coalesce(m.iterations, 0), 1)) AS BIGINT) AS events
FROM placed p JOIN members m ON p.trace = m.trace AND p.device = m.device

-- median: usual_length: of events in lengths by run, role

-- At least half an iteration later than the median.
-- table: late_all
SELECT s.run, s.role, s.trace, s.device, s.rank, s.host, s.ranks, s.category, s.event, s.bytes, t.median, t.n, u.median AS iteration_events
FROM since s JOIN since_typical t ON s.run = t.run AND s.role = t.role AND s.category = t.category
JOIN since_mads d ON s.run = d.run AND s.role = d.role AND s.category = d.category
JOIN usual_length u ON s.run = u.run AND s.role = u.role
CROSS JOIN asked a
WHERE t.n >= 3 AND s.event - t.median > greatest(a.mads * 1.4826 * d.median, 0.5 * u.median)

-- question: late
SELECT l.run, l.rank, l.host, l.trace, l.device, l.role, l.category, l.event, l.median, l.iteration_events, l.n AS ranks, l.bytes,
  b.function, b.file, b.line, coalesce(d.certainty, 'certain') AS certainty
FROM late_all l JOIN (SELECT run, role, category, sum(ranks) AS many FROM late_all GROUP BY run, role, category) c
ON l.run = c.run AND l.role = c.role AND l.category = c.category
JOIN (SELECT trace, device, category, function, file, line, row_number() OVER (PARTITION BY trace, device, category
    ORDER BY sum(bytes) DESC, file, line, function) AS nth FROM sites GROUP BY trace, device, category, function, file, line) b
ON l.trace = b.trace AND l.device = b.device AND l.category = b.category
LEFT JOIN doubted d ON d.kind = 'category' AND l.run = d.run AND l.role = d.role AND l.category = d.category
WHERE b.nth = 1 AND (c.many = 1 OR c.many * 4 <= l.n) ORDER BY l.run, l.event - l.median DESC, l.rank, l.trace, l.device, l.category

-- question: growing
SELECT p.run, p.rank, p.host, p.trace, p.device, p.role, p.growth, g.category, g.function, g.file, g.line, g.bytes, g.iterations, CASE WHEN g.category IS NOT NULL THEN coalesce(g.certainty, 'certain') END AS certainty,
  CAST(sum(p.ranks) OVER (PARTITION BY p.run, g.category, g.function, g.file, g.line) AS BIGINT) AS ranks
FROM placed p LEFT JOIN (SELECT trace, device, category, function, file, line, bytes, iterations, certainty,
    row_number() OVER (PARTITION BY trace, device ORDER BY bytes DESC, file, line, function, category) AS nth FROM growth) g
ON p.trace = g.trace AND p.device = g.device AND g.nth = 1
WHERE p.growth > 0 ORDER BY p.growth DESC, p.run, p.rank, p.trace, p.device

-- question: nearest
SELECT run, rank, host, trace, device, role, headroom, memory, most_reserved, nth
FROM (SELECT p.*, row_number() OVER (PARTITION BY run ORDER BY headroom, rank, trace, device) AS nth FROM placed p
  WHERE headroom IS NOT NULL) n WHERE nth <= 8 ORDER BY run, nth

-- A rank's device with the highest peak: as in memtap report, a rank counts once.
-- table: mains
SELECT run, trace, device, rank, ranks, peak
FROM (SELECT p.*, row_number() OVER (PARTITION BY trace ORDER BY peak DESC, device) AS nth FROM placed p) d WHERE nth = 1

-- median: main_peaks: of peak in mains by run

-- question: nights
SELECT n.run, n.ranks, n.median, n.most, n.most_rank, n.started_unix_ns,
  n.median - lag(n.median) OVER (ORDER BY n.started_unix_ns NULLS FIRST, n.run) AS change,
  n.most - lag(n.most) OVER (ORDER BY n.started_unix_ns NULLS FIRST, n.run) AS most_change
FROM (SELECT p.run, max(t.n) AS ranks, max(t.median) AS median, CAST(max(p.peak) AS BIGINT) AS most,
    CAST(max(CASE WHEN h.nth = 1 THEN p.rank END) AS BIGINT) AS most_rank, CAST(max(m.started_unix_ns) AS BIGINT) AS started_unix_ns
  FROM mains p JOIN members m ON p.trace = m.trace AND p.device = m.device
  JOIN (SELECT trace, row_number() OVER (PARTITION BY run ORDER BY peak DESC, rank, trace) AS nth FROM mains) h
  ON p.trace = h.trace JOIN main_peaks t ON p.run = t.run GROUP BY p.run) n
ORDER BY n.started_unix_ns NULLS FIRST, n.run

-- Each role over the runs: how far its highest rank is above its median, and the change since the previous run.
-- question: over_time
SELECT r.run, r.role, r.ranks, r.median, r.most, r.most - r.median AS above,
  r.most - r.median - lag(r.most - r.median) OVER (PARTITION BY r.role ORDER BY n.started NULLS FIRST, r.run) AS change
FROM (SELECT p.run, p.role, max(t.n) AS ranks, max(t.median) AS median, CAST(max(p.peak) AS BIGINT) AS most
  FROM placed p JOIN role_peaks t ON p.run = t.run AND p.role = t.role GROUP BY p.run, p.role) r
JOIN (SELECT run, max(started_unix_ns) AS started FROM members GROUP BY run) n ON r.run = n.run
ORDER BY r.role, n.started NULLS FIRST, r.run

-- The previous run of the same job.
-- table: before
SELECT run, lag(run) OVER (ORDER BY started NULLS FIRST, run) AS earlier
FROM (SELECT run, max(started_unix_ns) AS started FROM members GROUP BY run) r

-- By function: lines move between runs. line: the first one now.
-- table: functions
SELECT run, role, category, function, file, min(line) AS line, CAST(sum(median) AS BIGINT) AS median, max(n) AS n
FROM typical WHERE kind = 'line' GROUP BY run, role, category, function, file

-- table: files
SELECT DISTINCT run, file FROM functions

-- Two runs side by side. A file that only one of them has, as when each run has its own folder, is compared by its base name.
-- table: pairs
SELECT b.run, b.earlier, f.run AS of_run, f.role, f.category, f.function, f.file, f.line, f.median, f.n,
  CASE WHEN o.file IS NULL THEN regexp_replace(f.file, '^.*/', '') ELSE f.file END AS name
FROM before b JOIN functions f ON f.run = b.run OR f.run = b.earlier
LEFT JOIN files o ON o.file = f.file AND o.run = CASE WHEN f.run = b.run THEN b.earlier ELSE b.run END

-- table: sides
SELECT run, earlier, of_run, role, category, function, name, min(file) AS file, min(line) AS line, CAST(sum(median) AS BIGINT) AS median,
  max(n) AS n
FROM pairs GROUP BY run, earlier, of_run, role, category, function, name

-- table: functions_doubted
SELECT run, role, category, function, file, CASE WHEN min(certainty) = 'guess' THEN 'guess' ELSE 'likely' END AS certainty
FROM doubted WHERE kind = 'line' GROUP BY run, role, category, function, file

-- question: changes
SELECT b.run, b.earlier, n.role, n.category, n.function, n.file, n.line, n.median AS bytes, coalesce(o.median, 0) AS earlier_bytes,
  n.median - coalesce(o.median, 0) AS change, n.n AS ranks,
  coalesce(d.certainty, 'certain') AS certainty
FROM before b JOIN sides n ON n.run = b.run AND n.of_run = b.run
JOIN (SELECT DISTINCT run, role FROM typical) r ON r.run = b.earlier AND r.role = n.role
LEFT JOIN sides o ON o.run = b.run AND o.of_run = b.earlier AND o.role = n.role AND o.category = n.category AND o.function = n.function
  AND o.name = n.name
LEFT JOIN functions_doubted d ON d.run = n.run AND d.role = n.role AND d.category = n.category AND d.function = n.function
  AND d.file = n.file
CROSS JOIN asked a
WHERE n.median - coalesce(o.median, 0) > a.least_bytes
ORDER BY b.run, change DESC, n.role, n.category, n.file, n.line, n.function

-- table: rank_changes
SELECT b.run, b.earlier, p.rank, p.host, p.trace, p.device, p.role, p.ranks, p.peak, o.peak AS earlier_peak, p.peak - o.peak AS change
FROM before b JOIN placed p ON p.run = b.run JOIN placed o ON o.run = b.earlier AND o.rank = p.rank AND o.device = p.device
WHERE p.rank >= 0

-- median: usual_change: of change in rank_changes by run, role

-- question: grown
SELECT g.run, g.earlier, g.rank, g.host, g.trace, g.device, g.role, g.peak, g.earlier_peak, g.change, u.median AS usual
FROM rank_changes g JOIN usual_change u ON g.run = u.run AND g.role = u.role
CROSS JOIN asked a
WHERE g.change > a.least_bytes AND g.change > a.least_share * g.earlier_peak
ORDER BY g.run, g.change DESC, g.rank, g.trace, g.device
