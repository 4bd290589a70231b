-- The difference between groups of the mean silhouette of their rows, each among the rows of all groups.
-- Without a reference: the largest less the smallest. With one: the signed difference, group less reference,
-- that is largest in size; of two alike the lower.
WITH unit AS (
    -- A row of weight w stands for w rows.
    SELECT slice, "group", cluster, x, y, row_number() OVER () AS id
    FROM (SELECT slice, "group", cluster, x, y, unnest(range(weight::BIGINT)) FROM rows)
    WHERE cluster IS NOT NULL AND x IS NOT NULL AND y IS NOT NULL
),
pairs AS (
    SELECT a.slice, a."group", a.id, a.cluster, b.cluster AS other,
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
    SELECT slice, "group", id, cluster, other, avg(apart) AS apart
    FROM pairs
    GROUP BY slice, "group", id, cluster, other
),
sides AS (
    SELECT slice, "group", id, cluster,
           max(apart) FILTER (other = cluster) AS inside,
           min(apart) FILTER (other <> cluster) AS outside
    FROM means
    GROUP BY slice, "group", id, cluster
),
found AS (
    -- A row alone in its cluster has 0, and so has one that is at no distance from anything.
    SELECT slice, "group", cluster,
           CASE WHEN outside IS NULL THEN NULL
                WHEN inside IS NULL OR greatest(inside, outside) = 0 THEN 0
                ELSE (outside - inside) / greatest(inside, outside) END AS silhouette
    FROM sides
),
beside AS (
    SELECT each.slice, each."group", found.silhouette, found."group" = each."group" AS own,
           CASE getvariable('ref_kind')
               WHEN 'value' THEN found."group" = getvariable('ref') AND found."group" <> each."group"
               WHEN 'overall' THEN found."group" IS NOT NULL
               WHEN 'rest' THEN found."group" <> each."group"
           END AS other
    FROM (SELECT DISTINCT slice, "group" FROM rows) AS each
    LEFT JOIN found ON found.slice IS NOT DISTINCT FROM each.slice
),
values_of_groups AS (
    SELECT slice, avg(silhouette) FILTER (own) AS mine,
           avg(silhouette) FILTER (other) AS theirs, mine - theirs AS apart
    FROM beside
    GROUP BY slice, "group"
)
SELECT slice,
       CASE WHEN count(mine) < 2 THEN NULL
            WHEN getvariable('ref_kind') IS NULL THEN max(mine) - min(mine)
            ELSE first(apart ORDER BY round(abs(apart), 12) DESC, apart) FILTER (apart IS NOT NULL)
       END AS value
FROM values_of_groups
GROUP BY slice
