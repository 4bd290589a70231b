-- Difference of the mean predictions in pooled standard deviations, of rows at or above the q-quantile
-- of all; variances are those of populations. Undefined without a degree of freedom.
-- Without a reference: the largest over all pairs of groups, unsigned. With one: group against
-- reference, signed, the largest in size; of two alike the lower.
WITH valued AS (
    -- the prediction, or the lower edge of its bin
    SELECT *, coalesce(getvariable('bins')::DOUBLE[], edges) AS bins,
           CASE WHEN bins IS NULL THEN pred
                ELSE list_max(list_filter(bins, lambda e: e <= pred)) END AS low
    FROM rows
    WHERE pred IS NOT NULL AND weight > 0
),
ranks AS (
    SELECT slice, low, sum(weight) OVER (PARTITION BY slice ORDER BY low) AS through
    FROM valued
),
positions AS (
    SELECT slice, greatest(max(through) - 1, 0) * coalesce(getvariable('q'), 0) AS h
    FROM ranks
    GROUP BY slice
),
cuts AS (
    -- the q-quantile: between the values of rank floor(h) and the next, counted from 0
    SELECT p.slice, h - floor(h) AS t,
           min(low) FILTER (through > floor(h)) AS here,
           coalesce(min(low) FILTER (through > floor(h) + 1), here) AS after,
           CASE WHEN t < 0.5 THEN here + (after - here) * t
                ELSE after - (after - here) * (1 - t) END AS cut
    FROM positions AS p
    JOIN ranks AS r ON r.slice IS NOT DISTINCT FROM p.slice
    GROUP BY p.slice, h
),
kept AS (
    SELECT v.*, cut, low >= cut AS kept
    FROM valued AS v
    JOIN cuts ON cuts.slice IS NOT DISTINCT FROM v.slice
),
above AS (
    SELECT * FROM kept WHERE kept
),
pairs AS (
    -- (group, whom it is set against); NULL stands for everyone, or everyone else
    SELECT DISTINCT a.slice, a."group" AS a,
           CASE WHEN getvariable('ref_kind') IN ('overall', 'rest') THEN NULL
                ELSE b."group" END AS b
    FROM above AS a
    JOIN above AS b ON a.slice IS NOT DISTINCT FROM b.slice AND a."group" <> b."group"
    WHERE a."group" IS NOT NULL
        AND (getvariable('ref_kind') IS DISTINCT FROM 'value' OR b."group" = getvariable('ref'))
),
stacked AS (
    SELECT p.*, 1 AS side, k.pred, k.weight FROM pairs AS p
    JOIN above AS k ON k.slice IS NOT DISTINCT FROM p.slice AND k."group" = p.a
    UNION ALL
    SELECT p.*, 2, k.pred, k.weight FROM pairs AS p
    JOIN above AS k ON k.slice IS NOT DISTINCT FROM p.slice
        AND (CASE WHEN p.b IS NOT NULL THEN k."group" = p.b
                         WHEN getvariable('ref_kind') = 'rest' THEN k."group" <> p.a
                         ELSE k."group" IS NOT NULL END)
),
samples AS (
    SELECT slice, a, b, side, sum(weight) AS m, sum(weight * pred) / sum(weight) AS mean,
           sum(weight * pow(off, 2)) / sum(weight) AS v
    FROM (SELECT *, pred - sum(weight * pred) OVER each / sum(weight) OVER each AS off
          FROM stacked WINDOW each AS (PARTITION BY slice, a, b, side))
    GROUP BY ALL
),
statistics AS (
    SELECT x.slice,
           CASE WHEN x.m + y.m > 2 THEN
               ((x.m - 1) * x.v + (y.m - 1) * y.v) / (x.m + y.m - 2) END AS pooled,
           CASE WHEN pooled >= 0 THEN nullif((x.mean - y.mean) / sqrt(pooled), 'nan') END AS z
    FROM samples AS x
    JOIN samples AS y
        ON y.slice IS NOT DISTINCT FROM x.slice AND y.a = x.a AND y.b IS NOT DISTINCT FROM x.b
        AND x.side = 1 AND y.side = 2
)
SELECT everyone.slice,
       CASE WHEN getvariable('ref_kind') IS NULL THEN max(abs(z))
            ELSE first(z ORDER BY round(abs(z), 12) DESC, z) FILTER (z IS NOT NULL)
       END AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN statistics ON statistics.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
