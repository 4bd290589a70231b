-- Bound of the error of the area between two ROC curves: for each of the two groups, half the share of
-- pairs of a positive and a negative row that are in the same bin, if that bin has a width; summed. Of all
-- comparisons the largest.
-- views: _groups.sql
-- views: _scores.sql
-- compared: bool_or(label AND score IS NOT NULL AND weight > 0) AND bool_or(NOT label AND score IS NOT NULL AND weight > 0)
WITH parts AS (
    -- of all negatives on the side, the share in the bin of the row
    SELECT *, wide::INT * sum(weight * (NOT label)::INT) OVER bin
                  / nullif(sum(weight * (NOT label)::INT) OVER whole, 0) AS part
    FROM comparisons(binned)
    WINDOW whole AS (PARTITION BY slice, a, b, side), bin AS (PARTITION BY slice, a, b, side, low)
),
bounds AS (
    SELECT slice, (mean_of(part, side = 1 AND label) + mean_of(part, side = -1 AND label)) / 2 AS bound
    FROM parts
    GROUP BY slice, a, b
)
SELECT slice, max(bound) AS value
FROM bounds
GROUP BY slice
