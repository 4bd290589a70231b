-- Half the sum over items of the absolute difference of the item's shares in what two groups of
-- users are shown: the largest over all pairs of groups, or over groups compared with the
-- reference.
-- views: _exposure.sql
-- n of: (SELECT *, count(DISTINCT "group") OVER (PARTITION BY slice) AS groups FROM shown)
-- n: true
-- compared: bool_or(groups > 1)
WITH pairs AS (
    SELECT slice, "group", side, sum(abs(own - other)) / 2 AS variation
    FROM shares_by_group
    GROUP BY ALL
)
SELECT slice, max(variation) AS value
FROM pairs
GROUP BY slice
