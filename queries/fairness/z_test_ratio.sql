-- Two-sample z statistic of the log ratio of selection rates, pooled over the two samples.
-- Without a reference: the largest over all pairs of groups, unsigned. With one: group against
-- reference, signed, the largest in size; of two alike the lower.
WITH decided AS (
    SELECT slice, "group", pred, weight
    FROM rows
    WHERE "group" IS NOT NULL AND pred IS NOT NULL AND weight > 0
),
pairs AS (
    -- (group, whom it is set against); NULL stands for everyone, or everyone else
    SELECT DISTINCT a.slice, a."group" AS a,
           CASE WHEN getvariable('ref_kind') IN ('overall', 'rest') THEN NULL
                ELSE b."group" END AS b
    FROM decided AS a
    JOIN decided AS b ON a.slice IS NOT DISTINCT FROM b.slice AND a."group" <> b."group"
    WHERE getvariable('ref_kind') IS DISTINCT FROM 'value' OR b."group" = getvariable('ref')
),
samples AS (
    SELECT p.slice, p.a, p.b,
           sum(weight) FILTER ("group" = p.a) AS n,
           sum(weight * pred::INT) FILTER ("group" = p.a) / n AS rate,
           sum(weight) FILTER (getvariable('ref_kind') = 'overall' OR "group" = p.b
                               OR p.b IS NULL AND "group" <> p.a) AS m,
           sum(weight * pred::INT) FILTER (getvariable('ref_kind') = 'overall' OR "group" = p.b
                                           OR p.b IS NULL AND "group" <> p.a) / m AS other
    FROM pairs AS p
    JOIN decided AS d ON d.slice IS NOT DISTINCT FROM p.slice
    GROUP BY ALL
),
statistics AS (
    SELECT slice,
           (n * rate + m * other) / (n + m) AS pooled,
           nullif(ln(rate / other) / sqrt((1 - pooled) / pooled * (1 / n + 1 / m)), 'nan') AS x
    FROM samples
)
SELECT everyone.slice,
       CASE WHEN getvariable('ref_kind') IS NULL THEN max(abs(x))
            ELSE first(x ORDER BY round(abs(x), 12) DESC, x) FILTER (x IS NOT NULL)
       END AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN statistics ON statistics.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
