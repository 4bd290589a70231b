-- Bound of the Kolmogorov-Smirnov statistic: inside a bin that has a width, all its positives or all
-- its negatives may come first. How much larger the largest distance could be so.
WITH binned AS (
    -- the highest edge that a score reaches; with exact scores, the score itself
    SELECT slice, "group", label, weight, score,
           CASE WHEN exact THEN score
                ELSE list_max(list_filter(edges, lambda e: e <= score)) END AS low,
           NOT exact AND low < list_max(edges) AS wide
    FROM rows, (SELECT coalesce(getvariable('bins'),
                                list_transform(range(1001), lambda i: i / 1000))::DOUBLE[] AS edges)
    WHERE score IS NOT NULL AND label IS NOT NULL AND weight > 0
),
sizes AS (
    SELECT slice, sum(weight) FILTER (label) AS positives, sum(weight) FILTER (NOT label) AS negatives
    FROM binned
    GROUP BY slice
),
gaps AS (
    -- both labels at and above each bin, and above it
    SELECT t.slice, t.wide,
           coalesce(sum(weight) FILTER (label), 0) / positives AS tpr,
           coalesce(sum(weight) FILTER (NOT label), 0) / negatives AS fpr,
           coalesce(sum(weight) FILTER (label AND r.low > t.low), 0) / positives AS tpr_above,
           coalesce(sum(weight) FILTER (NOT label AND r.low > t.low), 0) / negatives AS fpr_above
    FROM (SELECT DISTINCT slice, low, wide FROM binned) AS t
    JOIN sizes ON sizes.slice IS NOT DISTINCT FROM t.slice
    JOIN binned AS r ON r.slice IS NOT DISTINCT FROM t.slice AND r.low >= t.low
    GROUP BY t.slice, t.low, t.wide, positives, negatives
)
SELECT everyone.slice,
       CASE WHEN max(abs(tpr - fpr)) IS NOT NULL THEN
           greatest(0, coalesce(max(greatest(abs(tpr - fpr_above), abs(tpr_above - fpr)))
                                    FILTER (wide), 0)
                       - max(abs(tpr - fpr)))
       END AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN gaps ON gaps.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
