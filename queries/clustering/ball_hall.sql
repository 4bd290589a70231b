-- The mean over clusters of the mean squared distance of their rows to their mean, which is half the mean
-- squared distance of two rows drawn from the cluster, with replacement.
-- views: _points.sql
WITH spreads AS (
    SELECT m.slice, m.cluster, coalesce(sum(apart ** 2), 0) / (2 * m.n ** 2) AS spread
    FROM means AS m
    LEFT JOIN pairs AS p
        ON p.slice IS NOT DISTINCT FROM m.slice AND p.cluster = m.cluster AND p.other = m.cluster
    GROUP BY m.slice, m.cluster, m.n
)
SELECT slices.slice, avg(spread) AS value
FROM slices
LEFT JOIN spreads ON spreads.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
