-- Ratio of the mean absolute errors, of rows at or above the q-quantile of all predictions.
-- Without a reference: the smallest over the largest. With one: group over reference, the ratio
-- farthest from 1 by its logarithm; of two alike the lower.
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
sides AS (
    -- every group beside every row of its slice
    SELECT each.slice, each."group", r.weight, r.pred, r.label, r.kept,
           r."group" = each."group" AS own,
           CASE getvariable('ref_kind')
               WHEN 'value' THEN r."group" = getvariable('ref') AND r."group" <> each."group"
               WHEN 'overall' THEN r."group" IS NOT NULL
               WHEN 'rest' THEN r."group" <> each."group"
           END AS other
    FROM (SELECT DISTINCT slice, "group" FROM rows) AS each
    LEFT JOIN kept AS r ON r.slice IS NOT DISTINCT FROM each.slice
),
rates AS (
    SELECT slice,
           sum(weight * abs(pred - label)) FILTER (own AND kept AND label IS NOT NULL)
               / nullif(sum(weight) FILTER (own AND kept AND label IS NOT NULL), 0) AS mine,
           sum(weight * abs(pred - label)) FILTER (other AND kept AND label IS NOT NULL)
               / nullif(sum(weight) FILTER (other AND kept AND label IS NOT NULL), 0) AS theirs,
           nullif(mine / theirs, 'nan') AS times
    FROM sides
    GROUP BY slice, "group"
)
SELECT slice,
       CASE WHEN count(mine) < 2 THEN NULL
            WHEN getvariable('ref_kind') IS NULL THEN nullif(min(mine) / max(mine), 'nan')
            ELSE first(times ORDER BY round(abs(ln(abs(times))), 12) DESC, times)
                     FILTER (times IS NOT NULL)
       END AS value
FROM rates
GROUP BY slice
