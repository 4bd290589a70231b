-- The distance of the two nearest means over the largest distance of a row from its own.
WITH unit AS (
    -- A row of weight w stands for w rows.
    SELECT slice, cluster, x, y, row_number() OVER () AS id
    FROM (SELECT slice, cluster, x, y, unnest(range(weight::BIGINT)) FROM points)
    WHERE cluster IS NOT NULL AND x IS NOT NULL AND y IS NOT NULL
),
middles AS (
    SELECT slice, cluster, avg(x) AS x, avg(y) AS y FROM unit GROUP BY slice, cluster
),
widths AS (
    SELECT middles.slice, middles.cluster, middles.x, middles.y, count(*) AS n,
           max(sqrt((unit.x - middles.x) ** 2 + (unit.y - middles.y) ** 2)) AS width
    FROM unit JOIN middles
        ON middles.slice IS NOT DISTINCT FROM unit.slice AND middles.cluster = unit.cluster
    GROUP BY middles.slice, middles.cluster, middles.x, middles.y
),
ends AS (
    SELECT a.slice, min(sqrt((a.x - b.x) ** 2 + (a.y - b.y) ** 2)) AS nearest,
           max(a.width) AS farthest, max(a.n) AS most
    FROM widths AS a
    JOIN widths AS b ON a.slice IS NOT DISTINCT FROM b.slice AND a.cluster <> b.cluster
    GROUP BY a.slice
)
SELECT every.slice,
       CASE WHEN most < 2 OR (nearest = 0 AND farthest = 0) THEN NULL
            ELSE nearest / farthest END AS value
FROM (SELECT DISTINCT slice FROM points) AS every
LEFT JOIN ends ON ends.slice IS NOT DISTINCT FROM every.slice
