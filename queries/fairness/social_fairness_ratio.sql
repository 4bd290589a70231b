-- Social fairness ratio: the ratio of the groups' mean distances from a row to the nearest centroid.
-- views: _groups.sql
WITH nearest AS (
    SELECT slice, "group", weight,
           (SELECT min(sqrt((x - cx) ** 2 + (y - cy) ** 2)) FROM centroids) AS distance
    FROM rows
),
means AS (
    SELECT slice, mean_of(distance, own) AS mine, mean_of(distance, other) AS theirs
    FROM beside(nearest)
    GROUP BY slice, "group"
)
SELECT slice, ratio(mine, theirs) AS value
FROM means
GROUP BY slice
