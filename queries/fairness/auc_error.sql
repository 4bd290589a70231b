-- Bound of the AUC: half the share of pairs whose two rows fall in one bin that has a width.
WITH binned AS (
    -- the highest edge that a score reaches; with exact scores, the score itself
    SELECT slice, "group", label, weight, score,
           CASE WHEN exact THEN score
                ELSE list_max(list_filter(edges, lambda e: e <= score)) END AS low,
           NOT exact AND low < list_max(edges) AS wide
    FROM rows, (SELECT coalesce(getvariable('bins'),
                                list_transform(range(1001), lambda i: i / 1000))::DOUBLE[] AS edges)
    WHERE score IS NOT NULL AND label IS NOT NULL AND weight > 0
)
SELECT everyone.slice,
       sum(p.weight * q.weight * (p.low = q.low AND p.wide)::INT)
           / sum(p.weight * q.weight) / 2 AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN binned AS p ON p.slice IS NOT DISTINCT FROM everyone.slice AND p.label
LEFT JOIN binned AS q ON q.slice IS NOT DISTINCT FROM everyone.slice AND NOT q.label
GROUP BY everyone.slice
