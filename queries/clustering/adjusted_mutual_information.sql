-- (MI - E) / (H - E), where MI is the mutual information of clusters and labels, H a mean of their
-- entropies, and E the mean of MI over all tables with the same margins: every count x that a cell
-- can have, times its hypergeometric probability. 1 for the same partition, else 0 where every such
-- table has the same MI.
-- views: _contingency.sql
WITH clusters AS (SELECT DISTINCT slice, part, in_cluster AS a, n FROM counted),
labels AS (SELECT DISTINCT slice, label, of_label AS b FROM counted),
cells AS (
    SELECT c.slice, a, b, n, unnest(range(greatest(1, a + b - n), least(a, b) + 1)) AS x
    FROM clusters AS c JOIN labels AS l ON l.slice IS NOT DISTINCT FROM c.slice
),
random AS (
    SELECT slice, sum(x / n * ln(n * x / (a * b)) * exp(
               lgamma(a + 1) + lgamma(b + 1) + lgamma(n - a + 1) + lgamma(n - b + 1) - lgamma(n + 1)
               - lgamma(x + 1) - lgamma(a - x + 1) - lgamma(b - x + 1) - lgamma(n - a - b + x + 1)
           )) AS e
    FROM cells
    GROUP BY slice
),
found AS (
    SELECT slice, bool_and(shared = in_cluster AND shared = of_label) AS same,
           max(in_cluster) IN (1, n) OR max(of_label) IN (1, n) AS fixed,
           avg(ln(shared * n / (in_cluster * of_label))) AS mi,
           mean_entropy(avg(-ln(in_cluster / n)), avg(-ln(of_label / n)), NULL, 'arithmetic') AS h
    FROM counted
    GROUP BY slice, n
)
SELECT f.slice, CASE WHEN same THEN 1 WHEN fixed THEN 0 ELSE (mi - e) / (h - e) END AS value
FROM found AS f LEFT JOIN random AS r ON r.slice IS NOT DISTINCT FROM f.slice
