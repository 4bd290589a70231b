-- Views of outcomes, predictions that are numbers. They read `pred`, `edges` and the views of `_groups.sql`.

-- One row per row with a known prediction. `low` is the prediction, or the lower edge of its bin.
CREATE OR REPLACE TEMP VIEW predicted AS
SELECT *, coalesce(getvariable('bins')::DOUBLE[], edges) AS bins,
       CASE WHEN bins IS NULL THEN pred
            ELSE list_max(list_filter(bins, lambda e: e <= pred)) END AS low
FROM rows
WHERE pred IS NOT NULL;

-- One row per row with a known prediction and a weight.
CREATE OR REPLACE TEMP VIEW valued AS
FROM predicted WHERE weight > 0;

-- One row per slice and number q of the list: the q-quantile of all predictions, `cut`. It lies between the
-- values at positions floor(h) and floor(h) + 1, counted from 0, where h = q (n - 1).
CREATE OR REPLACE TEMP MACRO quantiles(qs) AS TABLE
WITH ranked AS (
    SELECT slice, low, sum(weight) OVER (PARTITION BY slice ORDER BY low) AS through FROM valued
),
positions AS (
    SELECT slice, unnest(qs)::DOUBLE AS q, greatest(max(through) - 1, 0) * q AS h
    FROM ranked
    GROUP BY slice
)
SELECT p.slice, q, h - floor(h) AS t,
       min(low) FILTER (through > floor(h)) AS here,
       coalesce(min(low) FILTER (through > floor(h) + 1), here) AS after,
       CASE WHEN t < 0.5 THEN here + (after - here) * t
            ELSE after - (after - here) * (1 - t) END AS cut
FROM positions AS p
JOIN ranked ON ranked.slice IS NOT DISTINCT FROM p.slice
GROUP BY p.slice, q, h;

-- One row per row with a known prediction. `kept`: it is at or above the q-quantile of all predictions.
CREATE OR REPLACE TEMP MACRO cut_at(q) AS TABLE
SELECT valued.*, low >= cut AS kept
FROM valued
JOIN quantiles([q]) AS quantile ON quantile.slice IS NOT DISTINCT FROM valued.slice;

-- The same, and one row per row with a known prediction and no weight. With q = 0 all are kept.
CREATE OR REPLACE TEMP MACRO reached(level) AS TABLE
SELECT predicted.*, level = 0 OR low >= cut AS kept
FROM predicted
JOIN quantiles([level]) AS quantile ON quantile.slice IS NOT DISTINCT FROM predicted.slice;

-- One row per comparison (see `comparisons`) and quantile, of `count` quantiles that are evenly spaced from
-- the highest prediction to the lowest: the shares of predictions at or above it in group a, `mine`, and
-- in b, `theirs`. A slice without a comparison has rows with shares of NULL.
CREATE OR REPLACE TEMP MACRO shares_above(count) AS TABLE
SELECT c.slice, a, b, q, cut, share(low >= cut, side = 1) AS mine, share(low >= cut, side = -1) AS theirs
FROM comparisons(valued) AS c
LEFT JOIN quantiles(list_transform(range(count::INT), lambda i: CASE
    WHEN i = count - 1 THEN 0 ELSE 1 + i * (-1.0::DOUBLE / (count - 1)) END)) AS quantile
    ON quantile.slice IS NOT DISTINCT FROM c.slice
GROUP BY c.slice, a, b, q, cut;
