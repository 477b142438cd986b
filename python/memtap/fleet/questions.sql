-- SPDX-License-Identifier: Apache-2.0
-- What is asked of many ranks, once: DuckDB and Spark both run these statements as they stand (fleet/questions.py).
-- "-- table: NAME" makes a temporary table of the statement below it, "-- question: NAME" is an answer. Given are the
-- tables runs, sites and growth (docs/fleet-dataset.md) and asked, one row of settings. Bytes are BIGINT: sums and medians are cast,
-- because each engine has a type of its own for them. The order of NULLs and of equals is said, because each has its own for that too.

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

-- A rank's newest trace, by device; headroom: what is left of the device when PyTorch has reserved most.
-- table: members
SELECT n.*, CASE WHEN a.stages > 0 AND n.rank >= 0 AND n.world_size > 0
      THEN CAST(floor(n.rank * a.stages / n.world_size) AS BIGINT) ELSE -1 END AS stage,
  CASE WHEN a.tensor_parallel > 0 AND n.rank >= 0 THEN n.rank % a.tensor_parallel ELSE -1 END AS place,
  n.memory - n.most_reserved - coalesce(n.outside, 0) AS headroom
FROM (SELECT r.*, row_number() OVER (PARTITION BY job, run, rank, CASE WHEN rank < 0 THEN trace ELSE '' END, device
    ORDER BY started_unix_ns DESC NULLS LAST, trace DESC) AS nth FROM runs r WHERE peak IS NOT NULL) n
CROSS JOIN asked a
WHERE n.nth = 1 AND n.job = a.job

-- table: newest
SELECT run, started FROM (SELECT run, started, row_number() OVER (ORDER BY started DESC NULLS LAST, run DESC) AS nth
  FROM (SELECT run, max(started_unix_ns) AS started FROM members GROUP BY run) r) n WHERE nth = 1

-- Ranks of equal role: parameters of the same modules, with as many bytes. Sizes that few ranks have are with the most frequent one.
-- table: kinds
SELECT run, parameters_in, stage, place, parameters, n,
  row_number() OVER (PARTITION BY run, parameters_in, stage, place ORDER BY n DESC, parameters DESC) AS nth
FROM (SELECT run, parameters_in, stage, place, parameters, count(*) AS n FROM members
  GROUP BY run, parameters_in, stage, place, parameters) k

-- table: placed
SELECT m.run, m.trace, m.device, m.rank, m.host, m.peak, m.most_reserved, m.memory, m.headroom, m.growth, m.iterations,
  CASE WHEN m.stage >= 0 THEN concat('stage ', CAST(m.stage AS STRING), ': ') ELSE '' END || m.parameters_in ||
  CASE WHEN m.place >= 0 THEN concat(', place ', CAST(m.place AS STRING)) ELSE '' END ||
  CASE WHEN k.nth > 1 AND k.n >= 3 THEN concat(', of ', CAST(m.parameters AS STRING), ' bytes') ELSE '' END AS role
FROM members m JOIN kinds k ON m.run = k.run AND m.parameters_in = k.parameters_in AND m.stage = k.stage
  AND m.place = k.place AND m.parameters = k.parameters

-- Everything that is compared: (kind, category, function, file, line, module) names a thing.
-- table: measured
SELECT run, role, trace, device, 'peak' AS kind, '' AS category, '' AS function, '' AS file, 0 AS line, '' AS module,
  peak AS bytes FROM placed
UNION ALL SELECT run, role, trace, device, 'reserved', '', '', '', 0, '', most_reserved FROM placed WHERE most_reserved IS NOT NULL
UNION ALL SELECT p.run, p.role, p.trace, p.device, 'category', s.category, '', '', 0, '', CAST(sum(s.bytes) AS BIGINT)
  FROM sites s JOIN placed p ON s.trace = p.trace AND s.device = p.device
  GROUP BY p.run, p.role, p.trace, p.device, s.category
UNION ALL SELECT p.run, p.role, p.trace, p.device, 'line', s.category, s.function, s.file, s.line, '', CAST(sum(s.bytes) AS BIGINT)
  FROM sites s JOIN placed p ON s.trace = p.trace AND s.device = p.device
  GROUP BY p.run, p.role, p.trace, p.device, s.category, s.function, s.file, s.line
UNION ALL SELECT p.run, p.role, p.trace, p.device, 'module', s.category, '', '', 0, s.module, CAST(sum(s.bytes) AS BIGINT)
  FROM sites s JOIN placed p ON s.trace = p.trace AND s.device = p.device WHERE s.module <> ''
  GROUP BY p.run, p.role, p.trace, p.device, s.category, s.module

-- What some rank of a role has, all have: perhaps 0 bytes of it.
-- table: compared
SELECT t.run, t.role, p.trace, p.device, t.kind, t.category, t.function, t.file, t.line, t.module, coalesce(m.bytes, 0) AS bytes
FROM (SELECT DISTINCT run, role, kind, category, function, file, line, module FROM measured) t
JOIN placed p ON t.run = p.run AND t.role = p.role
LEFT JOIN measured m ON m.run = t.run AND m.role = t.role AND m.trace = p.trace AND m.device = p.device AND m.kind = t.kind
  AND m.category = t.category AND m.function = t.function AND m.file = t.file AND m.line = t.line AND m.module = t.module

-- table: typical
SELECT run, role, kind, category, function, file, line, module, count(*) AS n, CAST(floor(median(bytes)) AS BIGINT) AS median
FROM compared GROUP BY run, role, kind, category, function, file, line, module

-- mad: the median of the distances from the median.
-- table: spread
SELECT c.run, c.role, c.kind, c.category, c.function, c.file, c.line, c.module, t.n, t.median,
  CAST(floor(median(abs(c.bytes - t.median))) AS BIGINT) AS mad
FROM compared c JOIN typical t ON c.run = t.run AND c.role = t.role AND c.kind = t.kind AND c.category = t.category
  AND c.function = t.function AND c.file = t.file AND c.line = t.line AND c.module = t.module
GROUP BY c.run, c.role, c.kind, c.category, c.function, c.file, c.line, c.module, t.n, t.median

-- table: far
SELECT c.run, c.role, c.trace, c.device, c.kind, c.category, c.function, c.file, c.line, c.module, c.bytes, s.n, s.median, s.mad,
  c.bytes - s.median AS above
FROM compared c JOIN spread s ON c.run = s.run AND c.role = s.role AND c.kind = s.kind AND c.category = s.category
  AND c.function = s.function AND c.file = s.file AND c.line = s.line AND c.module = s.module
JOIN typical t ON t.run = c.run AND t.role = c.role AND t.kind = 'peak'
CROSS JOIN asked a
WHERE s.n >= 3 AND abs(c.bytes - s.median) > greatest(a.mads * 1.4826 * s.mad, a.least_share * t.median, CAST(a.least_bytes AS DOUBLE))

-- Where more than a quarter of a role's ranks are far from the others, there are two groups, and no outliers.
-- question: outliers
SELECT f.run, p.rank, p.host, f.trace, f.device, f.role, f.kind, f.category, f.function, f.file, f.line, f.module, f.bytes,
  f.median, f.mad, f.n AS ranks, f.above
FROM far f
JOIN (SELECT run, role, kind, category, function, file, line, module, count(*) AS many FROM far
  GROUP BY run, role, kind, category, function, file, line, module) c
ON f.run = c.run AND f.role = c.role AND f.kind = c.kind AND f.category = c.category AND f.function = c.function
  AND f.file = c.file AND f.line = c.line AND f.module = c.module
JOIN placed p ON f.trace = p.trace AND f.device = p.device
WHERE c.many = 1 OR c.many * 4 <= f.n
ORDER BY abs(f.above) DESC, f.run, f.trace, f.device, f.kind, f.category, f.function, f.file, f.line, f.module

-- question: stages
SELECT p.run, p.role, count(DISTINCT p.trace) AS ranks, CAST(floor(median(p.peak)) AS BIGINT) AS median, CAST(min(p.peak) AS BIGINT) AS least,
  CAST(max(p.peak) AS BIGINT) AS most, CAST(min(p.headroom) AS BIGINT) AS headroom, CAST(min(p.rank) AS BIGINT) AS first_rank,
  CAST(max(CASE WHEN h.nth = 1 THEN p.rank END) AS BIGINT) AS most_rank
FROM placed p JOIN (SELECT trace, device, row_number() OVER (PARTITION BY run, role ORDER BY peak DESC, rank, trace, device) AS nth
  FROM placed) h ON p.trace = h.trace AND p.device = h.device
GROUP BY p.run, p.role ORDER BY p.run, first_rank, p.role

-- question: imbalance
SELECT c.run, c.role, c.category, c.bytes AS most, p.rank AS most_rank, p.trace, c.median, c.bytes - c.median AS above, c.ranks
FROM (SELECT c.run, c.role, c.category, c.bytes, c.trace, c.device, t.median, t.n AS ranks,
    row_number() OVER (PARTITION BY c.run, c.role, c.category ORDER BY c.bytes DESC, c.trace, c.device) AS nth
  FROM compared c JOIN typical t ON c.run = t.run AND c.role = t.role AND t.kind = 'category' AND c.category = t.category
  WHERE c.kind = 'category') c
JOIN placed p ON c.trace = p.trace AND c.device = p.device
WHERE c.nth = 1 AND c.bytes > c.median ORDER BY c.run, above DESC, c.role, c.category

-- When memory that stays was first allocated, as the number of the event in the trace: equal programs have equally many.
-- table: since
SELECT p.run, p.role, p.trace, p.device, p.rank, p.host, s.category, CAST(min(s.event) AS BIGINT) AS event,
  CAST(sum(s.bytes) AS BIGINT) AS bytes
FROM placed p JOIN sites s ON p.trace = s.trace AND p.device = s.device
WHERE s.category IN ('parameters', 'optimizer_state')
GROUP BY p.run, p.role, p.trace, p.device, p.rank, p.host, s.category

-- table: since_typical
SELECT s.run, s.role, s.category, t.ranks, t.median, CAST(floor(median(abs(s.event - t.median))) AS BIGINT) AS mad
FROM since s JOIN (SELECT run, role, category, count(*) AS ranks, CAST(floor(median(event)) AS BIGINT) AS median FROM since
  GROUP BY run, role, category) t ON s.run = t.run AND s.role = t.role AND s.category = t.category
GROUP BY s.run, s.role, s.category, t.ranks, t.median

-- table: usual_length
SELECT run, role, CAST(floor(median(events)) AS BIGINT) AS events
FROM (SELECT p.run, p.role, m.events / greatest(coalesce(m.iterations, 0), 1) AS events
  FROM placed p JOIN members m ON p.trace = m.trace AND p.device = m.device) l GROUP BY run, role

-- Half an iteration later than the others' median, at least.
-- table: late_all
SELECT s.run, s.role, s.trace, s.device, s.rank, s.host, s.category, s.event, s.bytes, t.median, t.ranks, u.events AS iteration_events
FROM since s JOIN since_typical t ON s.run = t.run AND s.role = t.role AND s.category = t.category
JOIN usual_length u ON s.run = u.run AND s.role = u.role
CROSS JOIN asked a
WHERE t.ranks >= 3 AND s.event - t.median > greatest(a.mads * 1.4826 * t.mad, 0.5 * u.events)

-- question: late
SELECT l.run, l.rank, l.host, l.trace, l.device, l.role, l.category, l.event, l.median, l.iteration_events, l.ranks, l.bytes,
  b.function, b.file, b.line
FROM late_all l JOIN (SELECT run, role, category, count(*) AS many FROM late_all GROUP BY run, role, category) c
ON l.run = c.run AND l.role = c.role AND l.category = c.category
JOIN (SELECT trace, device, category, function, file, line, row_number() OVER (PARTITION BY trace, device, category
    ORDER BY sum(bytes) DESC, file, line, function) AS nth FROM sites GROUP BY trace, device, category, function, file, line) b
ON l.trace = b.trace AND l.device = b.device AND l.category = b.category
WHERE b.nth = 1 AND (c.many = 1 OR c.many * 4 <= l.ranks) ORDER BY l.run, l.event - l.median DESC, l.rank, l.trace, l.device, l.category

-- question: growing
SELECT p.run, p.rank, p.host, p.trace, p.device, p.role, p.growth, g.category, g.function, g.file, g.line, g.bytes, g.iterations,
  CAST(count(*) OVER (PARTITION BY p.run, g.category, g.function, g.file, g.line) AS BIGINT) AS ranks
FROM placed p LEFT JOIN (SELECT trace, device, category, function, file, line, bytes, iterations,
    row_number() OVER (PARTITION BY trace, device ORDER BY bytes DESC, file, line, function, category) AS nth FROM growth) g
ON p.trace = g.trace AND p.device = g.device AND g.nth = 1
WHERE p.growth > 0 ORDER BY p.growth DESC, p.run, p.rank, p.trace, p.device

-- question: nearest
SELECT run, rank, host, trace, device, role, headroom, memory, most_reserved, nth
FROM (SELECT p.*, row_number() OVER (PARTITION BY run ORDER BY headroom, rank, trace, device) AS nth FROM placed p
  WHERE headroom IS NOT NULL) n WHERE nth <= 8 ORDER BY run, nth

-- A rank's device with the highest peak: as memtap report, a rank counts once.
-- table: mains
SELECT run, trace, device, rank, peak
FROM (SELECT p.*, row_number() OVER (PARTITION BY trace ORDER BY peak DESC, device) AS nth FROM placed p) d WHERE nth = 1

-- question: nights
SELECT n.run, n.ranks, n.median, n.most, n.most_rank, n.started_unix_ns,
  n.median - lag(n.median) OVER (ORDER BY n.started_unix_ns NULLS FIRST, n.run) AS change,
  n.most - lag(n.most) OVER (ORDER BY n.started_unix_ns NULLS FIRST, n.run) AS most_change
FROM (SELECT p.run, count(*) AS ranks, CAST(floor(median(p.peak)) AS BIGINT) AS median, CAST(max(p.peak) AS BIGINT) AS most,
    CAST(max(CASE WHEN h.nth = 1 THEN p.rank END) AS BIGINT) AS most_rank, CAST(max(m.started_unix_ns) AS BIGINT) AS started_unix_ns
  FROM mains p JOIN members m ON p.trace = m.trace AND p.device = m.device
  JOIN (SELECT trace, row_number() OVER (PARTITION BY run ORDER BY peak DESC, rank, trace) AS nth FROM mains) h
  ON p.trace = h.trace GROUP BY p.run) n
ORDER BY n.started_unix_ns NULLS FIRST, n.run

-- Each role over the runs: how far its highest rank is above its median, and how much further than in the run before.
-- question: over_time
SELECT r.run, r.role, r.ranks, r.median, r.most, r.most - r.median AS above,
  r.most - r.median - lag(r.most - r.median) OVER (PARTITION BY r.role ORDER BY n.started NULLS FIRST, r.run) AS change
FROM (SELECT run, role, count(*) AS ranks, CAST(floor(median(peak)) AS BIGINT) AS median, CAST(max(peak) AS BIGINT) AS most
  FROM placed GROUP BY run, role) r
JOIN (SELECT run, max(started_unix_ns) AS started FROM members GROUP BY run) n ON r.run = n.run
ORDER BY r.role, n.started NULLS FIRST, r.run

-- The run before each, of the same job.
-- table: before
SELECT run, lag(run) OVER (ORDER BY started NULLS FIRST, run) AS earlier
FROM (SELECT run, max(started_unix_ns) AS started FROM members GROUP BY run) r

-- By function: lines move from night to night. line: the first one now.
-- table: functions
SELECT run, role, category, function, file, min(line) AS line, CAST(sum(median) AS BIGINT) AS median, max(n) AS n
FROM typical WHERE kind = 'line' GROUP BY run, role, category, function, file

-- question: changes
SELECT b.run, b.earlier, n.role, n.category, n.function, n.file, n.line, n.median AS bytes, coalesce(o.median, 0) AS earlier_bytes,
  n.median - coalesce(o.median, 0) AS change, n.n AS ranks
FROM before b JOIN functions n ON n.run = b.run
JOIN (SELECT DISTINCT run, role FROM typical) r ON r.run = b.earlier AND r.role = n.role
LEFT JOIN functions o ON o.run = b.earlier AND o.role = n.role AND o.category = n.category AND o.function = n.function
  AND o.file = n.file
CROSS JOIN asked a
WHERE n.median - coalesce(o.median, 0) > a.least_bytes
ORDER BY b.run, change DESC, n.role, n.category, n.file, n.line, n.function

-- question: grown
SELECT g.run, g.earlier, g.rank, g.host, g.trace, g.device, g.role, g.peak, g.earlier_peak, g.change, g.usual
FROM (SELECT c.*, CAST(floor(u.usual) AS BIGINT) AS usual FROM
    (SELECT b.run, b.earlier, p.rank, p.host, p.trace, p.device, p.role, p.peak, o.peak AS earlier_peak, p.peak - o.peak AS change
      FROM before b JOIN placed p ON p.run = b.run JOIN placed o ON o.run = b.earlier AND o.rank = p.rank AND o.device = p.device
      WHERE p.rank >= 0) c
  JOIN (SELECT b.run, p.role, median(p.peak - o.peak) AS usual
      FROM before b JOIN placed p ON p.run = b.run JOIN placed o ON o.run = b.earlier AND o.rank = p.rank AND o.device = p.device
      WHERE p.rank >= 0 GROUP BY b.run, p.role) u ON c.run = u.run AND c.role = u.role) g
CROSS JOIN asked a
WHERE g.change > a.least_bytes AND g.change > a.least_share * g.earlier_peak
ORDER BY g.run, g.change DESC, g.rank, g.trace, g.device
