-- Views of silhouettes. They read `cluster`, `x` and `y`.

-- One row per unit of weight of the rows with known cluster and features: a row of weight w stands w times.
CREATE OR REPLACE TEMP VIEW units AS
SELECT slice, "group", cluster, x, y, row_number() OVER () AS id
FROM (SELECT slice, "group", cluster, x, y, unnest(range(weight::BIGINT)) FROM rows)
WHERE cluster IS NOT NULL AND x IS NOT NULL AND y IS NOT NULL;

-- One row per ordered pair of units of a slice: the distance between the two by `metric`.
CREATE OR REPLACE TEMP VIEW distances AS
WITH scaled AS (
    -- (u, v) is (x, y) at length 1; NULL for (0, 0)
    SELECT *, nullif(sqrt(x ** 2 + y ** 2), 0) AS length, x / length AS u, y / length AS v FROM units
)
SELECT a.slice, a."group", a.id, a.cluster, b.cluster AS other,
       CASE coalesce(getvariable('metric'), 'euclidean')
           WHEN 'euclidean' THEN sqrt((a.x - b.x) ** 2 + (a.y - b.y) ** 2)
           WHEN 'sqeuclidean' THEN (a.x - b.x) ** 2 + (a.y - b.y) ** 2
           WHEN 'manhattan' THEN abs(a.x - b.x) + abs(a.y - b.y)
           WHEN 'cosine' THEN coalesce(((a.u - b.u) ** 2 + (a.v - b.v) ** 2) / 2, 1)
           WHEN 'hamming' THEN (a.x <> b.x)::INT + (a.y <> b.y)::INT
       END AS distance
FROM scaled AS a
JOIN scaled AS b ON b.slice IS NOT DISTINCT FROM a.slice AND b.id <> a.id;
