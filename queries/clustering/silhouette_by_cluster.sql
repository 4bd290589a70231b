-- The mean over the rows of every cluster of (b - a) / max(a, b): a the mean distance to the other rows
-- of the cluster, b to the nearest other cluster.
WITH unit AS (
    -- A row of weight w stands for w rows.
    SELECT slice, cluster, x, y, row_number() OVER () AS id
    FROM (SELECT slice, cluster, x, y, unnest(range(weight::BIGINT)) FROM points)
    WHERE cluster IS NOT NULL AND x IS NOT NULL AND y IS NOT NULL
),
pairs AS (
    SELECT a.slice, a.id, a.cluster, b.cluster AS other,
           CASE coalesce(getvariable('metric'), 'euclidean')
               WHEN 'euclidean' THEN sqrt((a.x - b.x) ** 2 + (a.y - b.y) ** 2)
               WHEN 'sqeuclidean' THEN (a.x - b.x) ** 2 + (a.y - b.y) ** 2
               WHEN 'manhattan' THEN abs(a.x - b.x) + abs(a.y - b.y)
               WHEN 'cosine' THEN
                   CASE WHEN (a.x = 0 AND a.y = 0) OR (b.x = 0 AND b.y = 0) THEN 1
                        ELSE ((a.x / sqrt(a.x ** 2 + a.y ** 2) - b.x / sqrt(b.x ** 2 + b.y ** 2)) ** 2
                              + (a.y / sqrt(a.x ** 2 + a.y ** 2) - b.y / sqrt(b.x ** 2 + b.y ** 2)) ** 2
                             ) / 2 END
               WHEN 'hamming' THEN (a.x <> b.x)::INT + (a.y <> b.y)::INT
           END AS apart
    FROM unit AS a
    JOIN unit AS b ON a.slice IS NOT DISTINCT FROM b.slice AND a.id <> b.id
),
means AS (
    SELECT slice, id, cluster, other, avg(apart) AS apart
    FROM pairs
    GROUP BY slice, id, cluster, other
),
sides AS (
    SELECT slice, id, cluster,
           max(apart) FILTER (other = cluster) AS inside,
           min(apart) FILTER (other <> cluster) AS outside
    FROM means
    GROUP BY slice, id, cluster
),
found AS (
    -- A row alone in its cluster has 0, and so has one that is at no distance from anything.
    SELECT slice, cluster,
           CASE WHEN outside IS NULL THEN NULL
                WHEN inside IS NULL OR greatest(inside, outside) = 0 THEN 0
                ELSE (outside - inside) / greatest(inside, outside) END AS silhouette
    FROM sides
)
SELECT every.slice, every.cluster, avg(silhouette) AS value
FROM (SELECT DISTINCT slice, cluster FROM unit) AS every
LEFT JOIN found
    ON found.slice IS NOT DISTINCT FROM every.slice AND found.cluster = every.cluster
GROUP BY every.slice, every.cluster
