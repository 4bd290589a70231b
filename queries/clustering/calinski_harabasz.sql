-- The spread between clusters over the spread within, per degree of freedom; spreads are taken from the
-- squared distances of pairs, not from means.
WITH unit AS (
    -- A row of weight w stands for w rows.
    SELECT slice, cluster, x, y, row_number() OVER () AS id
    FROM (SELECT slice, cluster, x, y, unnest(range(weight::BIGINT)) FROM points)
    WHERE cluster IS NOT NULL AND x IS NOT NULL AND y IS NOT NULL
),
pairs AS (
    SELECT a.slice, a.cluster, a.cluster = b.cluster AS same,
           (a.x - b.x) ** 2 + (a.y - b.y) ** 2 AS apart
    FROM unit AS a JOIN unit AS b ON a.slice IS NOT DISTINCT FROM b.slice
),
sizes AS (
    SELECT slice, cluster, count(*) AS n FROM unit GROUP BY slice, cluster
),
spreads AS (
    SELECT pairs.slice, sum(apart) / (2 * any_value(total)) AS everything,
           sum(apart / (2 * n)) FILTER (same) AS inside, any_value(total) AS n, any_value(k) AS k
    FROM pairs
    JOIN sizes ON sizes.slice IS NOT DISTINCT FROM pairs.slice AND sizes.cluster = pairs.cluster
    JOIN (SELECT slice, sum(n) AS total, count(*) AS k FROM sizes GROUP BY slice) AS whole
        ON whole.slice IS NOT DISTINCT FROM pairs.slice
    GROUP BY pairs.slice
)
SELECT every.slice,
       CASE WHEN k < 2 OR n = k OR everything = 0 THEN NULL
            ELSE ((everything - inside) / (k - 1)) / (inside / (n - k)) END AS value
FROM (SELECT DISTINCT slice FROM points) AS every
LEFT JOIN spreads ON spreads.slice IS NOT DISTINCT FROM every.slice
