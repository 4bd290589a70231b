-- 1 minus the Jensen-Shannon divergence, in bits, of the shares of the groups of items in the
-- discounted exposure from their targets.
-- views: _exposure.sql
-- views: _discounts.sql
-- n of: first_k
-- n: item_group IS NOT NULL
WITH exposures AS (
    SELECT slice, item_group,
           sum(discount(coalesce(getvariable('discount'), 'log'), position)) AS exposure
    FROM first_k
    GROUP BY ALL
),
shares AS (
    SELECT z.slice, t.target,
           coalesce(e.exposure, 0) / nullif(sum(e.exposure) OVER (PARTITION BY z.slice), 0) AS share,
           (share + target) / 2 AS middle
    FROM (SELECT DISTINCT slice FROM ranked) AS z
    CROSS JOIN targets AS t
    LEFT JOIN exposures AS e
        ON e.slice IS NOT DISTINCT FROM z.slice AND e.item_group = t.item_group
)
SELECT slice,
       1 - sum(CASE WHEN share = 0 THEN 0 ELSE share * log2(share / middle) END) / 2
         - sum(CASE WHEN target = 0 THEN 0 ELSE target * log2(target / middle) END) / 2 AS value
FROM shares
GROUP BY slice
