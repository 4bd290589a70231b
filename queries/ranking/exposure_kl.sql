-- The Kullback-Leibler divergence, in nats, of what a group of users is shown from what another
-- group is shown: the largest over all ordered pairs of groups, or over groups compared with the
-- reference.
-- views: _exposure.sql
-- n of: (SELECT *, count(DISTINCT "group") OVER (PARTITION BY slice) AS groups FROM shown)
-- n: true
-- compared: bool_or(groups > 1)
WITH pairs AS (
    SELECT slice, "group", side, sum(own * ln(own / other)) FILTER (own > 0) AS divergence
    FROM shares_by_group
    GROUP BY ALL
)
SELECT slice, max(divergence) AS value
FROM pairs
GROUP BY slice
