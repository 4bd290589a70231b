-- The spread between clusters over the spread within, each per degree of freedom. The spread of n
-- rows is the sum of their squared distances over 2 n; means are not used.
-- views: _points.sql
WITH clusters AS (
    SELECT m.slice, m.cluster, m.n, sum(apart ** 2) AS to_all,
           coalesce(sum(apart ** 2) FILTER (other = m.cluster), 0) / (2 * m.n) AS inside
    FROM means AS m
    LEFT JOIN pairs AS p ON p.slice IS NOT DISTINCT FROM m.slice AND p.cluster = m.cluster
    GROUP BY m.slice, m.cluster, m.n
),
spreads AS (
    SELECT slice, sum(to_all) / (2 * sum(n)) AS everything, sum(inside) AS inside,
           sum(n) AS n, count(*) AS k
    FROM clusters
    GROUP BY slice
)
SELECT slices.slice,
       CASE WHEN k < 2 OR n = k OR everything = 0 THEN NULL
            ELSE ((everything - inside) / (k - 1)) / (inside / (n - k)) END AS value
FROM slices
LEFT JOIN spreads ON spreads.slice IS NOT DISTINCT FROM slices.slice
