-- Area between the ROC curves of two groups: the curves are cut at every false positive rate at which
-- one of them bends; between two cuts their distance is a straight line, known from two inner points.
WITH binned AS (
    -- the highest edge that a score reaches; with exact scores, the score itself
    SELECT slice, "group", label, weight, score,
           CASE WHEN exact THEN score
                ELSE list_max(list_filter(edges, lambda e: e <= score)) END AS low,
           NOT exact AND low < list_max(edges) AS wide
    FROM rows, (SELECT coalesce(getvariable('bins'),
                                list_transform(range(1001), lambda i: i / 1000))::DOUBLE[] AS edges)
    WHERE score IS NOT NULL AND label IS NOT NULL AND weight > 0
),
members AS (
    -- the rows of either side of every comparison; NULL stands for everyone, or everyone else
    SELECT DISTINCT each.slice, each."group" AS a, beside.b
    FROM (SELECT DISTINCT slice, "group" FROM rows WHERE "group" IS NOT NULL) AS each
    JOIN (SELECT DISTINCT slice,
                 CASE WHEN getvariable('ref_kind') IN ('overall', 'rest') THEN NULL
                      ELSE "group" END AS b
          FROM rows WHERE "group" IS NOT NULL) AS beside
        ON beside.slice IS NOT DISTINCT FROM each.slice
    WHERE (b IS NULL OR each."group" <> b)
        AND (getvariable('ref_kind') IS NULL OR b IS NULL OR b = getvariable('ref'))
),
sides AS (
    SELECT m.*, 1 AS side, r.low, r.wide, r.label, r.weight
    FROM members AS m
    JOIN binned AS r ON r.slice IS NOT DISTINCT FROM m.slice AND r."group" = m.a
    UNION ALL
    SELECT m.*, 2, r.low, r.wide, r.label, r.weight
    FROM members AS m
    JOIN binned AS r
        ON r.slice IS NOT DISTINCT FROM m.slice
        AND CASE WHEN b IS NOT NULL THEN r."group" = b
                 WHEN getvariable('ref_kind') = 'rest' THEN r."group" <> a
                 ELSE r."group" IS NOT NULL END
),
sizes AS (
    SELECT slice, a, b, side, sum(weight) FILTER (label) AS positives,
           sum(weight) FILTER (NOT label) AS negatives
    FROM sides
    GROUP BY ALL
),
points AS (
    SELECT slice, a, b, side, 0.0 AS fpr, 0.0 AS tpr
    FROM sizes
    UNION
    SELECT z.slice, z.a, z.b, z.side,
           coalesce(sum(weight) FILTER (NOT label), 0) / negatives,
           coalesce(sum(weight) FILTER (label), 0) / positives
    FROM sizes AS z
    JOIN (SELECT DISTINCT slice, a, b, side, low FROM sides) AS t
        ON t.slice IS NOT DISTINCT FROM z.slice AND t.a = z.a AND t.b IS NOT DISTINCT FROM z.b
        AND t.side = z.side
    JOIN sides AS r
        ON r.slice IS NOT DISTINCT FROM z.slice AND r.a = z.a AND r.b IS NOT DISTINCT FROM z.b
        AND r.side = z.side AND r.low >= t.low
    WHERE positives > 0 AND negatives > 0
    GROUP BY z.slice, z.a, z.b, z.side, t.low, positives, negatives
),
cuts AS (
    SELECT slice, a, b, x,
           lead(x) OVER (PARTITION BY slice, a, b ORDER BY x) AS next
    FROM (SELECT DISTINCT slice, a, b, fpr AS x FROM points)
),
inner_points AS (
    SELECT slice, a, b, x, next, unnest([1, 3]) AS quarter, x + (next - x) * quarter / 4 AS here
    FROM cuts
    WHERE next > x
),
around AS (
    -- each curve's last point before and first point after
    SELECT i.slice, i.a, i.b, i.x, i.next, i.quarter, i.here, p.side,
           max({'x': fpr, 'y': tpr}) FILTER (fpr < here) AS before,
           min({'x': fpr, 'y': tpr}) FILTER (fpr > here) AS after
    FROM inner_points AS i
    JOIN points AS p
        ON p.slice IS NOT DISTINCT FROM i.slice AND p.a = i.a AND p.b IS NOT DISTINCT FROM i.b
    GROUP BY ALL
),
gaps AS (
    SELECT slice, a, b, x, next,
           sum(CASE WHEN side = 1 THEN y ELSE -y END) FILTER (quarter = 1) AS d1,
           sum(CASE WHEN side = 1 THEN y ELSE -y END) FILTER (quarter = 3) AS d3,
           1.5 * d1 - 0.5 * d3 AS d0, 1.5 * d3 - 0.5 * d1 AS d4
    FROM (SELECT *, before.y + (after.y - before.y) * (here - before.x) / (after.x - before.x) AS y
          FROM around)
    GROUP BY ALL
),
areas AS (
    SELECT slice, a, b,
           sum((next - x) * CASE WHEN d0 * d4 >= 0 THEN abs(d0 + d4) / 2
                                 ELSE (d0 * d0 + d4 * d4) / (2 * abs(d0 - d4)) END) AS area
    FROM gaps
    GROUP BY ALL
),
sound AS (
    SELECT slice, a, b, bool_or(side = 1) AS own, count(*) = 2 AS paired
    FROM sizes
    WHERE positives > 0 AND negatives > 0
    GROUP BY ALL
)
SELECT everyone.slice,
       CASE WHEN getvariable('ref_kind') IN ('overall', 'rest') AND count(*) FILTER (own) < 2 THEN NULL
            ELSE max(area) FILTER (paired) END AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN sound ON sound.slice IS NOT DISTINCT FROM everyone.slice
LEFT JOIN areas
    ON areas.slice IS NOT DISTINCT FROM sound.slice AND areas.a = sound.a
    AND areas.b IS NOT DISTINCT FROM sound.b
GROUP BY everyone.slice
