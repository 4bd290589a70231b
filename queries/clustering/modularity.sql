-- The share of distances within clusters less the share that their volumes let expect.
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
volumes AS (
    SELECT unit.slice, unit.cluster, coalesce(sum(apart), 0) AS volume,
           coalesce(sum(apart) FILTER (other = unit.cluster), 0) AS inside
    FROM unit LEFT JOIN pairs ON pairs.id = unit.id
    GROUP BY unit.slice, unit.cluster
),
shares AS (
    SELECT slice, inside / nullif(sum(volume) OVER (PARTITION BY slice), 0) AS inside,
           volume / nullif(sum(volume) OVER (PARTITION BY slice), 0) AS volume
    FROM volumes
)
SELECT every.slice, sum(inside - volume * volume) AS value
FROM (SELECT DISTINCT slice FROM points) AS every
LEFT JOIN shares ON shares.slice IS NOT DISTINCT FROM every.slice
GROUP BY every.slice
