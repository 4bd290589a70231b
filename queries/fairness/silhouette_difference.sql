-- The difference between the groups' mean silhouettes. The silhouette of a row compares its mean distance
-- to the other rows of its cluster (inside) with that to the rows of the nearest other cluster (outside).
-- It is 0 for a row alone in its cluster and for a row at distance 0 from all others.
-- views: _groups.sql
-- views: _silhouettes.sql
-- n of: (SELECT *, count(DISTINCT cluster) FILTER (x IS NOT NULL AND y IS NOT NULL AND weight > 0)
-- n of: OVER (PARTITION BY slice) AS clusters FROM rows)
-- compared: bool_or(clusters > 1 AND cluster IS NOT NULL AND x IS NOT NULL AND y IS NOT NULL AND weight > 0)
WITH means AS (
    SELECT slice, "group", id, cluster, other, avg(distance) AS distance FROM distances GROUP BY ALL
),
sides AS (
    SELECT slice, "group", max(distance) FILTER (other = cluster) AS inside,
           min(distance) FILTER (other <> cluster) AS outside
    FROM means
    GROUP BY slice, "group", id
),
found AS (
    SELECT slice, "group",
           CASE WHEN outside IS NULL THEN NULL
                WHEN inside IS NULL OR greatest(inside, outside) = 0 THEN 0
                ELSE (outside - inside) / greatest(inside, outside) END AS silhouette
    FROM sides
),
averages AS (
    SELECT slice, avg(silhouette) FILTER (own) AS mine, avg(silhouette) FILTER (other) AS theirs
    FROM beside(found)
    GROUP BY slice, "group"
)
SELECT slice, difference(mine, theirs) AS value FROM averages GROUP BY slice
