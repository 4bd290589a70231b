-- Kullback-Leibler divergence of a group's distribution over clusters from that of the reference. Of all
-- comparisons the largest; without a reference every pair of groups is compared in both orders.
-- views: _groups.sql
-- views: _clusters.sql
WITH divergences AS (
    SELECT slice, sum(CASE WHEN p = 0 THEN 0 ELSE p * (ln(p) - ln(q)) END) AS divergence
    FROM cluster_mixes
    GROUP BY slice, a, b
)
SELECT slice, max(divergence) / ln(coalesce(getvariable('base'), exp(1))) AS value
FROM divergences
GROUP BY slice
