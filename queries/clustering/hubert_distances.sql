-- The mean over pairs of rows of their distance times that of their clusters' means.
WITH unit AS (
    -- A row of weight w stands for w rows.
    SELECT slice, cluster, x, y, row_number() OVER () AS id
    FROM (SELECT slice, cluster, x, y, unnest(range(weight::BIGINT)) FROM points)
    WHERE cluster IS NOT NULL AND x IS NOT NULL AND y IS NOT NULL
),
middles AS (
    SELECT slice, cluster, avg(x) AS x, avg(y) AS y FROM unit GROUP BY slice, cluster
),
pairs AS (
    SELECT a.slice, a.id, a.cluster, b.cluster AS other,
           CASE coalesce(getvariable('metric'), 'euclidean')
               WHEN 'euclidean' THEN sqrt((a.x - b.x) ** 2 + (a.y - b.y) ** 2)
               WHEN 'sqeuclidean' THEN (a.x - b.x) ** 2 + (a.y - b.y) ** 2
               WHEN 'manhattan' THEN abs(a.x - b.x) + abs(a.y - b.y)
           END AS apart
    FROM unit AS a
    JOIN unit AS b ON a.slice IS NOT DISTINCT FROM b.slice AND a.id < b.id
),
gaps AS (
    SELECT a.slice, a.cluster, b.cluster AS other,
           CASE coalesce(getvariable('metric'), 'euclidean')
               WHEN 'euclidean' THEN sqrt((a.x - b.x) ** 2 + (a.y - b.y) ** 2)
               WHEN 'sqeuclidean' THEN (a.x - b.x) ** 2 + (a.y - b.y) ** 2
               WHEN 'manhattan' THEN abs(a.x - b.x) + abs(a.y - b.y)
           END AS apart
    FROM middles AS a JOIN middles AS b ON a.slice IS NOT DISTINCT FROM b.slice
),
both_sides AS (
    SELECT pairs.slice, pairs.apart AS x, gaps.apart AS y
    FROM pairs JOIN gaps
        ON gaps.slice IS NOT DISTINCT FROM pairs.slice
        AND gaps.cluster = pairs.cluster AND gaps.other = pairs.other
)
SELECT every.slice, avg(x * y) AS value
FROM (SELECT DISTINCT slice FROM points) AS every
LEFT JOIN both_sides ON both_sides.slice IS NOT DISTINCT FROM every.slice
GROUP BY every.slice
