-- What the statements on the geometry of clusters share.

-- One row per slice.
CREATE OR REPLACE TEMP VIEW slices AS
SELECT DISTINCT slice FROM points;

-- One row per unit: a row of known cluster and features, repeated as often as its weight says.
CREATE OR REPLACE TEMP VIEW units AS
SELECT slice, cluster, x, y, row_number() OVER (ORDER BY origin) AS id
FROM (SELECT slice, cluster, x, y, rowid AS origin, unnest(range(weight::BIGINT)) FROM points)
WHERE cluster IS NOT NULL AND x IS NOT NULL AND y IS NOT NULL;

-- The distance of the points (x1, y1) and (x2, y2), by the option `metric`. The cosine distance is
-- half the squared distance of the two directions, and 1 where a point has no direction.
CREATE OR REPLACE TEMP MACRO distance(x1, y1, x2, y2) AS
    CASE coalesce(getvariable('metric'), 'euclidean')
        WHEN 'euclidean' THEN sqrt((x1 - x2) ** 2 + (y1 - y2) ** 2)
        WHEN 'sqeuclidean' THEN (x1 - x2) ** 2 + (y1 - y2) ** 2
        WHEN 'manhattan' THEN abs(x1 - x2) + abs(y1 - y2)
        WHEN 'hamming' THEN (x1 <> x2)::INT + (y1 <> y2)::INT
        WHEN 'cosine' THEN
            CASE WHEN (x1 = 0 AND y1 = 0) OR (x2 = 0 AND y2 = 0) THEN 1
                 ELSE ((x1 / sqrt(x1 ** 2 + y1 ** 2) - x2 / sqrt(x2 ** 2 + y2 ** 2)) ** 2
                       + (y1 / sqrt(x1 ** 2 + y1 ** 2) - y2 / sqrt(x2 ** 2 + y2 ** 2)) ** 2) / 2 END
    END::DOUBLE;

-- One row per unit and other unit of its slice, so every pair is here in both orders: the clusters
-- of the two, and their distance.
CREATE OR REPLACE TEMP VIEW pairs AS
WITH unit AS MATERIALIZED (FROM units)
SELECT a.slice, a.id, a.cluster, b.cluster AS other, distance(a.x, a.y, b.x, b.y) AS apart
FROM unit AS a
JOIN unit AS b ON a.slice IS NOT DISTINCT FROM b.slice AND a.id <> b.id;

-- One row per cluster: the number of its units, and their mean.
CREATE OR REPLACE TEMP VIEW means AS
SELECT slice, cluster, count(*) AS n, avg(x) AS x, avg(y) AS y
FROM units
GROUP BY slice, cluster;

-- One row per cluster: the sum of the distances from its units to all others, and to those of the
-- same cluster.
CREATE OR REPLACE TEMP VIEW volumes AS
SELECT slice, cluster, sum(apart) AS volume,
       coalesce(sum(apart) FILTER (other = cluster), 0) AS inside
FROM pairs
GROUP BY slice, cluster;

-- One row per unit: its mean distance to the other units of its cluster, and to those of the
-- nearest other cluster; NULL where there are none.
CREATE OR REPLACE TEMP VIEW neighbours AS
WITH to_clusters AS (
    SELECT slice, id, cluster, other, avg(apart) AS apart FROM pairs GROUP BY ALL
)
SELECT u.slice, u.id, u.cluster,
       max(apart) FILTER (other = u.cluster) AS inside,
       min(apart) FILTER (other <> u.cluster) AS outside
FROM units AS u
LEFT JOIN to_clusters AS t ON t.id = u.id
GROUP BY u.slice, u.id, u.cluster;

-- One row per ordered pair of units: their distance, and the distance of the means of their
-- clusters.
CREATE OR REPLACE TEMP VIEW distances AS
SELECT p.slice, p.apart AS of_units, distance(a.x, a.y, b.x, b.y) AS of_means
FROM pairs AS p
JOIN means AS a ON a.slice IS NOT DISTINCT FROM p.slice AND a.cluster = p.cluster
JOIN means AS b ON b.slice IS NOT DISTINCT FROM p.slice AND b.cluster = p.other;
