-- The largest distance between two groups' shares of predictions at or above a quantile of all
-- predictions, over quantiles that are evenly spaced from the highest prediction to the lowest. Of all
-- comparisons the largest.
-- views: _groups.sql
-- views: _outcomes.sql
WITH gaps AS (
    SELECT slice, max(abs(mine - theirs)) AS gap
    FROM shares_above(coalesce(getvariable('levels'), 150))
    GROUP BY slice, a, b
)
SELECT slice, max(gap) AS value
FROM gaps
GROUP BY slice
