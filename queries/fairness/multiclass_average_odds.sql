-- Multi-class average odds: the total variation between the distributions of two groups' predictions, when
-- all true classes that both groups have are given equal weight (so that opposite errors cancel). Reduced
-- over all comparisons.
-- views: _groups.sql
-- views: _classes.sql
WITH predictions AS (
    SELECT slice, a, b, pred, sum(side * part) AS apart, list(DISTINCT label) AS labels
    FROM judged
    GROUP BY slice, a, b, pred
),
distances AS (
    SELECT slice, sum(CASE WHEN apart < 0 THEN 0 ELSE apart END)
                  / len(list_distinct(flatten(list(labels)))) AS distance
    FROM predictions
    GROUP BY slice, a, b
)
SELECT slice, reduced(distance) AS value
FROM distances
GROUP BY slice
