-- Bound of the area between two ROC curves: of both curves together, half the share of pairs (positive,
-- negative) of rows that fall in one bin that has a width. The largest of any comparison.
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
errors AS (
    SELECT p.slice, p.a, p.b, p.side,
           sum(p.weight * q.weight * (p.low = q.low AND p.wide)::INT)
               / sum(p.weight * q.weight) / 2 AS error
    FROM sides AS p
    JOIN sides AS q
        ON q.slice IS NOT DISTINCT FROM p.slice AND q.a = p.a AND q.b IS NOT DISTINCT FROM p.b
        AND q.side = p.side
    WHERE p.label AND NOT q.label
    GROUP BY ALL
),
bounds AS (
    SELECT slice, a, b, sum(error) AS bound, bool_or(side = 1) AS own, count(*) = 2 AS paired
    FROM errors
    GROUP BY ALL
)
SELECT everyone.slice,
       CASE WHEN getvariable('ref_kind') IN ('overall', 'rest') AND count(*) FILTER (own) < 2 THEN NULL
            ELSE max(bound) FILTER (paired) END AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN bounds ON bounds.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
